package rules

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// texts are literals with expressions in them.
type texts struct {
	*runState
	evaluator *evaluator
}

// text computes a text. A single expression must return text, a time or a duration. Among other parts,
// numbers and booleans are converted to text.
func (r *texts) text(t *text) (string, result) {
	if len(t.parts) == 1 {
		return r.onlyPart(t)
	}
	return r.join(t, maxObject, tooLarge)
}

// shortText computes a text with a maximum number of bytes. long is what is wrong with a
// longer one.
func (r *texts) shortText(t *text, most int, long string) (string, result) {
	if len(t.parts) > 1 {
		return r.join(t, most, long)
	}
	s, res := r.onlyPart(t)
	if len(s) > most {
		return "", failedAt(t.pos, long)
	}
	return s, res
}

// join computes a text of several parts.
func (r *texts) join(t *text, most int, long string) (string, result) {
	out := make([]byte, 0, 64) // Most texts need no more memory than that.
	res := r.eachPart(t, func(s string) (wrong string) {
		if len(out)+len(s) > most {
			return long
		}
		out = append(out, s...)
		return ""
	})
	return string(out), res
}

// eachPart computes the parts of a text and adds them, unless one is wrong. It continues after a part
// that waits, to find everything that the text waits for.
func (r *texts) eachPart(t *text, add func(string) (wrong string)) (res result) {
	for _, p := range t.parts {
		s := p.literal
		if p.prog != nil {
			v, err := r.evaluator.eval(p.prog)
			if err != nil {
				return result{err: err}
			}
			if u, ok := v.(*types.Unknown); ok {
				res.unknown = types.MergeUnknowns(u, res.unknown)
				continue
			}
			var why string
			if s, why = expr.PrintedText(v); why != "" {
				return failedAt(p.prog.Pos(), why)
			}
		}
		if wrong := add(s); wrong != "" {
			return failedAt(t.pos, wrong)
		}
	}
	return res
}

func (r *texts) onlyPart(t *text) (string, result) {
	p := t.parts[0]
	if p.prog == nil {
		return p.literal, result{}
	}
	v, res := r.evaluator.evalPresent(p.prog, "must be text, but the value is absent")
	if !res.ok() {
		return "", res
	}
	s, ok := expr.TextOf(v)
	if !ok {
		return "", failedAt(p.prog.Pos(), "must be text, got "+expr.TypeOfValue(v))
	}
	return s, result{}
}
