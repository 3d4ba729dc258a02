package lsp

import (
	"regexp"
	"strings"

	"reconcel/cli/internal/judge"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A judgement is what was found in one version of a file.
type judgement struct {
	uri     string
	version int
	found   source.Errors
	kinds   *folder
}

// judge starts the judgement of a file that is due, unless one is running.
func (s *server) judge() {
	if s.running {
		return
	}
	for uri := range s.due {
		delete(s.due, uri)
		d := s.documents[uri]
		if d == nil {
			continue
		}
		s.running = true
		j, text, isRules := judgement{uri: uri, version: d.version}, d.file(d.text), d.isRules()
		project := s.project
		go func() {
			j.kinds = s.kinds.read(text.Name)
			if isRules {
				v := judge.Of(rules.Compile([]source.File{text}), j.kinds.set, project.Policy)
				if project.Strict {
					v.Warnings = v.Warnings.WithSeverity(source.SeverityError)
				}
				j.found = source.Collect([]source.File{text}, append(v.Errors, v.Warnings...))
			}
			s.judged <- j
		}()
		return
	}
}

// publish sends what was found, unless the file has changed since.
func (s *server) publish(j judgement) error {
	d := s.documents[j.uri]
	if d == nil || d.version != j.version || s.stopping {
		return nil
	}
	d.found, d.judged = j.found, j.version
	all := make([]diagnostic, len(j.found))
	for i, e := range j.found {
		all[i] = d.diagnostic(e)
	}
	if err := s.publishCRDs(j.kinds); err != nil {
		return err
	}
	return s.notify("textDocument/publishDiagnostics", publishParams{URI: j.uri, Version: &j.version, Diagnostics: all})
}

// publishCRDs sends the mistakes in CRDs, and why they could not be read.
func (s *server) publishCRDs(f *folder) error {
	by := map[string][]diagnostic{}
	for _, path := range s.wrong[f.dir] {
		by[path] = []diagnostic{} // They may be gone.
	}
	s.wrong[f.dir] = nil
	for _, e := range f.wrong {
		by[e.Pos.File] = append(by[e.Pos.File], (&document{}).diagnostic(e))
		s.wrong[f.dir] = append(s.wrong[f.dir], e.Pos.File)
	}
	for path, all := range by {
		if err := s.notify("textDocument/publishDiagnostics", publishParams{URI: uriOf(path), Diagnostics: all}); err != nil {
			return err
		}
	}
	if f.err == nil || s.unread == f.err.Error() {
		return nil
	}
	s.unread = f.err.Error() // It is told once.
	return s.notify("window/showMessage", showParams{severityError, s.unread})
}

// diagnostic converts an error. Messages about a whole file stand on its first line.
func (d *document) diagnostic(e *source.Error) diagnostic {
	from := spot{max(e.Pos.Line, 1) - 1, max(e.Pos.Column, 1) - 1}
	out := diagnostic{Severity: severityError, Code: e.Check, Source: "reconcel", Message: e.Message}
	if e.Severity == source.SeverityWarning {
		out.Severity = severityWarning
	}
	if e.Hint != "" {
		out.Message += "\n" + e.Hint
	}
	out.Range = textRange{d.position(from), d.position(spot{from.line, d.endOf(from)})}
	if len(d.lines) == 0 { // The text of a CRD is not known. Its characters are nearly always single units.
		out.Range = textRange{position{from.line, from.column}, position{from.line, from.column + 1}}
	}
	return out
}

// endOf returns the end of the word at a spot, or of the character.
func (d *document) endOf(s spot) int {
	line := d.line(s.line)
	end := s.column
	for end < len(line) && (source.IsIdent(line[end]) || line[end] == '-' || line[end] == '.') {
		end++
	}
	return max(end, min(s.column+1, len(line)))
}

// actions returns the quick fixes of the findings on the lines of a range. They come
// from the hints of the messages, so they say the same.
func (d *document) actions(r textRange) []codeAction {
	all := []codeAction{}
	if d.judged != d.version {
		return all // The positions may be wrong.
	}
	for _, e := range d.found {
		line := e.Pos.Line - 1
		if line < r.Start.Line || line > r.End.Line || e.Pos.File != d.path {
			continue
		}
		if edit, title, found := d.fix(e); found {
			all = append(all, codeAction{title, "quickfix", true, d.edit(edit)})
		}
		if e.Check != "" {
			above := spot{line, 0}
			comment := strings.Repeat(" ", indentOf(d.line(line))) + "# reconcel:ignore " + e.Check + "\n"
			all = append(all, codeAction{"Silence " + e.Check + " here", "quickfix", false,
				d.edit(textEdit{textRange{d.position(above), d.position(above)}, comment})})
		}
	}
	return all
}

func (d *document) edit(e textEdit) workspaceEdit {
	return workspaceEdit{map[string][]textEdit{d.uri: {e}}}
}

// Hints that say exactly what to write.
var (
	meantName  = regexp.MustCompile(`^did you mean '([^']+)'\?(?: If it is new, .*)?$`)
	meantPath  = regexp.MustCompile(`^write (metadata\.\w+)$`)
	meantValue = regexp.MustCompile(`^write ("[^"]*"|'[^']*'|\$\{[^.}][^}]*\})$`)
)

// fix returns the edit that a hint asks for.
func (d *document) fix(e *source.Error) (edit textEdit, title string, found bool) {
	at := spot{e.Pos.Line - 1, e.Pos.Column - 1}
	switch {
	case meantName.MatchString(e.Hint):
		name := meantName.FindStringSubmatch(e.Hint)[1]
		r, found := d.misspelt(at, name)
		return textEdit{r, name}, "Change to " + name, found
	case meantPath.MatchString(e.Hint):
		path := meantPath.FindStringSubmatch(e.Hint)[1]
		from, to, found := d.nearestWord(at, func(word string) bool { return "metadata."+word == path })
		return textEdit{d.span(at.line, from, to), path}, "Change to " + path, found
	case meantValue.MatchString(e.Hint):
		value := meantValue.FindStringSubmatch(e.Hint)[1]
		n := d.valueNode(at)
		if n == nil {
			return edit, "", false
		}
		text := len([]rune(n.value))
		if comment := strings.Index(n.value, " #"); comment >= 0 {
			text = len([]rune(strings.TrimRight(n.value[:comment], " ")))
		}
		return textEdit{d.span(n.line, n.at, n.at+text), value}, "Write " + value, true
	case e.Hint == "remove it":
		return d.removal(at)
	}
	return edit, "", false
}

// misspelt returns the word on the line that resembles a name, the nearest to a spot.
func (d *document) misspelt(at spot, name string) (textRange, bool) {
	from, to, found := d.nearestWord(at, func(word string) bool { return source.Nearest(word, []string{name}) == name })
	return d.span(at.line, from, to), found
}

// nearestWord returns the accepted word of a line that is nearest to a spot.
func (d *document) nearestWord(at spot, accepts func(word string) bool) (from, to int, found bool) {
	line := d.line(at.line)
	best := len(line) + 1
	for i := 0; i < len(line); i++ {
		end := i
		for end < len(line) && isWord(line[end]) {
			end++
		}
		if end == i {
			continue
		}
		apart := max(i-at.column, at.column-end, 0)
		if accepts(string(line[i:end])) && apart < best {
			from, to, found, best = i, end, true, apart
		}
		i = end
	}
	return from, to, found
}

func isWord(r rune) bool { return source.IsIdent(r) || r == '-' }

// valueNode returns the node whose value on one line begins at a spot, or nil.
func (d *document) valueNode(at spot) *node {
	for _, n := range d.outline.all {
		if n.line == at.line && n.at == at.column && n.value != "" && !n.block && !n.isFlow() {
			return n
		}
	}
	return nil
}

// removal removes the lines of a key, if the key begins its line and is not alone in
// its map.
func (d *document) removal(at spot) (edit textEdit, title string, found bool) {
	for _, n := range d.outline.all {
		if n.line != at.line || n.indent != at.column || n.key == "" || n.indent != indentOf(d.line(n.line)) ||
			len(n.parent.children) < 2 {
			continue
		}
		to := spot{n.lastLine() + 1, 0}
		return textEdit{textRange{d.position(spot{n.line, 0}), d.position(to)}, ""}, "Remove " + n.key, true
	}
	return edit, "", false
}

// lastLine returns the last line of a node and everything in it.
func (n *node) lastLine() int {
	last := max(n.line, n.last)
	for _, c := range n.children {
		last = max(last, c.lastLine())
	}
	return last
}
