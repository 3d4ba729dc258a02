package lsp

import (
	"errors"
	"slices"
	"strings"

	"reconcel/cli/internal/files"
	"reconcel/rules/check"
	"reconcel/rules/expr"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// scopes are the names of rules, computed when they are needed.
type scopes struct {
	set   *schema.Set
	rules map[*syntax.Rule]*check.Scope
}

// maxBlanked is the number of lines that parse leaves out to make a text valid YAML.
const maxBlanked = 3

// parse reads the rules of the text. If not all of them can be read, it keeps those of
// the last text in which they could. Without one, it leaves out the wrong lines.
func (d *document) parse() {
	d.scopes = scopes{}
	want := 0
	for _, top := range d.outline.documents() {
		want += len(top.find("rules").items())
	}
	lines := strings.SplitAfter(d.text, "\n")
	for range maxBlanked {
		file, wrong := d.read(strings.Join(lines, ""))
		if len(written(file)) >= want {
			d.parsed, d.complete = file, wrong == 0
			return
		}
		if d.complete || wrong < 1 || wrong > len(lines) {
			break
		}
		d.parsed = file
		lines[wrong-1] = "\n"
	}
	if d.parsed == nil {
		d.parsed = &syntax.File{}
	}
}

// file returns a text of the document as a rules file.
func (d *document) file(text string) source.File {
	return files.Reader{}.WithBeside(source.File{Name: d.path, Data: []byte(text)})
}

// read parses a text. It returns the line of the first error, or 0.
func (d *document) read(text string) (*syntax.File, int) {
	file, err := syntax.Parse([]source.File{d.file(text)})
	if found, wrong := errors.AsType[source.Errors](err); wrong {
		return file, found[0].Pos.Line
	}
	return file, 0
}

// rule returns the rule of a node as it was parsed, or nil.
func (d *document) rule(n *node) *syntax.Rule {
	at := n.rule()
	if at == nil {
		return nil
	}
	name := at.find("name").text()
	all := written(d.parsed)
	i := slices.IndexFunc(all, func(r *syntax.Rule) bool { return r.Name.Value == name })
	if i < 0 {
		i = slices.Index(at.parent.items(), at)
	}
	if i < 0 || i >= len(all) {
		return nil
	}
	return all[i]
}

// written returns the rules as they are written: for the first of their kinds.
func written(file *syntax.File) (all []*syntax.Rule) {
	for kinds := range file.Written() {
		all = append(all, kinds[0])
	}
	return all
}

// scope returns the names that the expressions at a node may read, or nil.
func (d *document) scope(n *node, set *schema.Set) *check.Scope {
	r := d.rule(n)
	if r == nil {
		return nil
	}
	if d.scopes.set != set || d.scopes.rules == nil {
		d.scopes = scopes{set, map[*syntax.Rule]*check.Scope{}}
	}
	s := d.scopes.rules[r]
	if s == nil {
		var err error
		if s, err = check.NewScope(r, set); err != nil {
			return nil
		}
		d.scopes.rules[r] = s
	}
	path := n.path()
	if len(path) > 3 && path[2] == "for" {
		return s.Selection()
	}
	if len(path) > 4 && path[2] == "let" {
		return s.Entry(path[3], path[4])
	}
	entry, list := n.entry()
	switch {
	case entry == nil || len(path) < 5:
		return s
	case list == "conditions":
		return conditionScope(s, r, entry)
	}
	return childScope(s, r, entry, path[4])
}

// conditionScope returns the scope of a condition.
func conditionScope(s *check.Scope, r *syntax.Rule, entry *node) *check.Scope {
	i := slices.Index(entry.parent.items(), entry)
	if i < 0 || i >= len(r.Conditions) {
		return s
	}
	return withElements(s, r.Conditions[i].ForEach)
}

// withElements returns the scope with the names of forEach.
func withElements(s *check.Scope, iterators []*syntax.Iterator) *check.Scope {
	for _, it := range iterators {
		if it.In == nil || it.Unusable {
			continue
		}
		list := s.TypeOf(it.In)
		s = s.With(it.Name.Value, list.Element())
		if it.Index.Value != "" {
			s = s.With(it.Index.Value, list.Key())
		}
	}
	return s
}

// childScope returns the scope of a key of a child.
func childScope(s *check.Scope, r *syntax.Rule, entry *node, key string) *check.Scope {
	id := entry.find("id").text()
	all := slices.Concat(r.Children, r.Finalize)
	i := slices.IndexFunc(all, func(c *syntax.Child) bool { return c.ID.Value == id && id != "" })
	if i < 0 || !slices.Contains([]string{"template", "readyWhen", "failWhen", "ignoreFields", "generate", "forEach"},
		key) {
		return s
	}
	s = withElements(s, all[i].ForEach)
	if key == "readyWhen" || key == "failWhen" {
		s = s.With("child", s.Child(all[i]))
	}
	return s
}

// hover describes what is at a spot: a name or field in an expression, or a key. It
// returns nil if there is nothing to say.
func (s *server) hover(d *document, at spot) *hover {
	p := d.place(at)
	set := s.kinds.last(d.path)
	e, inside := d.expression(p)
	if !inside {
		if p.node == nil || !p.isKey || p.node.key == "" {
			return nil
		}
		h := &hover{Range: d.span(at.line, p.node.indent, p.node.end)}
		doc := ""
		if language := keySchema(p.node.path()); language != nil {
			doc = language.Doc
		}
		t, in := fieldType(p.node, set)
		if in && doc == "" {
			doc = t.Doc()
		}
		if in {
			h.Contents = described(p.node.key+": "+t.String(), doc)
		} else {
			h.Contents = described(p.node.key, doc)
		}
		return h
	}
	n := p.node
	if n == nil {
		n = p.parent
	}
	scope := d.scope(n, set)
	c, found := e.chain()
	if scope == nil || !found || c.word == "" {
		return nil
	}
	text, doc := describe(e.locals(scope), c)
	if def := n.defined(c.word); def != nil && c.operand == "" {
		doc = "```yaml\n" + d.textOf(def) + "\n```"
	}
	if text == "" {
		return nil
	}
	from := p.spotOf(e.start + c.start)
	return &hover{Contents: described(text, doc), Range: d.span(from.line, from.column, from.column+c.end-c.start)}
}

// describe returns the type of a name, and its description.
func describe(scope *check.Scope, c chain) (text, doc string) {
	for _, def := range scope.Definitions() {
		if c.operand == "" && def.Name == c.word {
			return def.Signature + ": " + def.Result.String(), ""
		}
	}
	functions, name := expr.Functions(), c.word
	if own := inNamespace(scope, c.operand); own != nil {
		functions, name = own, c.operand+"."+c.word
	} else if c.operand != "" {
		t := scope.TypeOf(&source.Expr{Text: c.operand})
		if f, known := t.Value().Field(c.word); known {
			return c.operand + "." + c.word + ": " + f.String(), f.Doc()
		}
		functions = t.Methods()
	} else if slices.Contains(scope.Names(), c.word) {
		t := scope.TypeOf(&source.Expr{Text: c.word})
		return c.word + ": " + t.String(), t.Doc()
	}
	for _, f := range functions {
		if f.Name == name {
			return strings.Join(f.Usage, "\n"), ""
		}
	}
	return "", ""
}

func described(text, doc string) markup {
	value := "```\n" + text + "\n```"
	if doc != "" {
		value += "\n\n" + doc
	}
	return markup{"markdown", value}
}
