package rules

import (
	"strings"

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
func (c *expressions) text(n *source.Node, where string) *text {
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

// String returns the text as it is written, apart from escapes.
func (t *text) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		if b.WriteString(p.literal); p.prog != nil {
			b.WriteString("${" + p.prog.Text() + "}")
		}
	}
	return b.String()
}

// mayBe reports whether the text may have a value, whatever its expressions give.
func (t *text) mayBe(value string) bool {
	rest, open := value, false // open: an expression may give the beginning of the rest
	for i, p := range t.parts {
		at := strings.Index(rest, p.literal)
		switch {
		case p.prog != nil:
			open = true
			continue
		case i == len(t.parts)-1 && open:
			return strings.HasSuffix(rest, p.literal)
		case at < 0 || at > 0 && !open:
			return false
		}
		rest, open = rest[at+len(p.literal):], false
	}
	return open || rest == ""
}

// literal returns the text if it has no expressions.
func (t *text) literal() (string, bool) {
	if t == nil || len(t.parts) != 1 || t.parts[0].prog != nil || t.parts[0].literal == "" {
		return "", false
	}
	return t.parts[0].literal, true
}
