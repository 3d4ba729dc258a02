package rules

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A text is a string in which expressions may stand.
type text struct {
	parts []textPart
	where string
	pos   source.Pos
}

type textPart struct {
	literal string
	prog    *expr.Program
}

// text compiles a node that must give text.
func (c *compiler) text(n *source.Node, where string) *text {
	if n == nil {
		return nil // The parser has said why.
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

// literal returns the text if nothing in it is computed.
func (t *text) literal() (string, bool) {
	if t == nil || len(t.parts) != 1 || t.parts[0].prog != nil || t.parts[0].literal == "" {
		return "", false
	}
	return t.parts[0].literal, true
}

// A result is what became of computing something.
type result struct {
	unknown *types.Unknown
	err     *expr.Error
}

func (res result) ok() bool { return res.unknown == nil && res.err == nil }

// text computes a text. Alone, an expression must give text; among other
// parts, numbers and truth values print themselves.
func (r *run) text(t *text) (string, result) {
	if len(t.parts) == 1 {
		return r.onlyPart(t)
	}
	var out []byte
	var unknown *types.Unknown
	for _, p := range t.parts {
		if p.prog == nil {
			out = append(out, p.literal...)
			continue
		}
		v, err := r.eval(p.prog)
		if err != nil {
			return "", result{err: err}
		}
		if u, ok := v.(*types.Unknown); ok {
			unknown = types.MergeUnknowns(u, unknown)
			continue
		}
		s, why := printed(v)
		if why != "" {
			return "", result{err: &expr.Error{Pos: p.prog.Pos(), Message: why}}
		}
		out = append(out, s...)
		if len(out) > maxObject {
			return "", result{err: &expr.Error{Pos: t.pos, Message: tooLarge}}
		}
	}
	return string(out), result{unknown: unknown}
}

func (r *run) onlyPart(t *text) (string, result) {
	p := t.parts[0]
	if p.prog == nil {
		return p.literal, result{}
	}
	v, err := r.eval(p.prog)
	if err != nil {
		return "", result{err: err}
	}
	v, _ = unwrap(v)
	switch v := v.(type) {
	case types.String:
		return string(v), result{}
	case *types.Unknown:
		return "", result{unknown: v}
	case nil:
		return "", result{err: &expr.Error{Pos: p.prog.Pos(), Message: "must be text, but the value is absent"}}
	}
	return "", result{err: &expr.Error{Pos: p.prog.Pos(), Message: "must be text, got " + typeName(v)}}
}

// unwrap returns the value of an optional, nil and false if it has none.
func unwrap(v ref.Val) (ref.Val, bool) {
	for {
		o, ok := v.(*types.Optional)
		if !ok {
			return v, true
		}
		if !o.HasValue() {
			return nil, false
		}
		v = o.GetValue()
	}
}

// printed returns the string form that a value takes inside text, or why it
// has none.
func printed(v ref.Val) (s, why string) {
	v, ok := unwrap(v)
	if !ok {
		return "", "an absent value cannot be part of text: give it a default with orValue()"
	}
	switch v := v.(type) {
	case types.String:
		return string(v), ""
	case types.Bool, types.Int, types.Uint, types.Double, types.Timestamp, types.Duration:
		if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
			return string(text), ""
		}
	}
	return "", typeName(v) + " cannot be part of text"
}

// typeName is what people call the type of a value.
func typeName(v ref.Val) string {
	switch name := v.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "map", "list":
		return "a " + name
	default:
		return name
	}
}
