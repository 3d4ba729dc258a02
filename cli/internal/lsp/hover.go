package lsp

import (
	"slices"
	"strings"

	"reconcel/rules/check"
	"reconcel/rules/expr"
	"reconcel/rules/source"
)

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
