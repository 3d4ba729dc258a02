package rules

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

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
