package rules

import (
	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A text is a string that may contain expressions.
type text struct {
	parts []textPart
	where string
	pos   source.Pos
}

type textPart struct {
	literal string
	prog    *expr.Program
}

// text compiles a node that must be text.
func (c *compiler) text(n *source.Node, where string) *text {
	if n == nil {
		return nil // The parser has recorded an error.
	}
	t := &text{where: where, pos: n.Pos}
	switch n.Kind {
	case source.Text:
		s, _ := n.Value.(string)
		t.parts = []textPart{{literal: s}}
	case source.Interp:
		for _, p := range n.Parts {
			part := textPart{literal: p.Text}
			if p.Expr != nil {
				part.prog = c.expression(p.Expr, expr.Any, where)
			}
			t.parts = append(t.parts, part)
		}
	default:
		c.complain(n.Pos, "%s: must be text", where)
	}
	return t
}

// programs returns the expressions of a text.
func (t *text) programs() (programs []*expr.Program) {
	if t == nil {
		return nil
	}
	for _, p := range t.parts {
		if p.prog != nil {
			programs = append(programs, p.prog)
		}
	}
	return programs
}

// literal returns the text if it has no expressions.
func (t *text) literal() (string, bool) {
	if t == nil || len(t.parts) != 1 || t.parts[0].prog != nil || t.parts[0].literal == "" {
		return "", false
	}
	return t.parts[0].literal, true
}
