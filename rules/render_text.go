package rules

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// text computes a text. A single expression must return text. Among other parts,
// numbers and booleans are converted to text.
func (r *run) text(t *text) (string, result) {
	if len(t.parts) == 1 {
		return r.onlyPart(t)
	}
	var out []byte
	res := r.eachPart(t, func(s string) *expr.Error {
		if out = append(out, s...); len(out) > maxObject {
			return &expr.Error{Pos: t.pos, Message: tooLarge}
		}
		return nil
	})
	return string(out), res
}

// eachPart computes the parts of a text and adds them. It continues after a part
// that waits, to find everything that the text waits for.
func (r *run) eachPart(t *text, add func(string) *expr.Error) (res result) {
	for _, p := range t.parts {
		s := p.literal
		if p.prog != nil {
			v, err := r.eval(p.prog)
			if err != nil {
				return result{err: err}
			}
			if u, ok := v.(*types.Unknown); ok {
				res.unknown = types.MergeUnknowns(u, res.unknown)
				continue
			}
			var why string
			if s, why = printed(v); why != "" {
				return result{err: &expr.Error{Pos: p.prog.Pos(), Message: why}}
			}
		}
		if err := add(s); err != nil {
			return result{err: err}
		}
	}
	return res
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
