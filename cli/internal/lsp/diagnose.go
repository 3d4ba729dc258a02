package lsp

import (
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
		j, text, isRules := judgement{uri: uri, version: d.version}, source.File{Name: d.path, Data: []byte(d.text)},
			d.isRules()
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
