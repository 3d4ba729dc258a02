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

// dataValues are data with expressions in them, as lets and queries have.
type dataValues struct {
	*runState
	evaluator *evaluator
	texts     *texts
}

// value computes the data: a native value, an empty optional, an unknown or an
// error.
func (r *dataValues) value(d *data) any {
	switch {
	case d.prog != nil:
		v, err := r.evaluator.eval(d.prog)
		if err != nil {
			return types.WrapErr(err)
		}
		return v
	case d.text != nil:
		s, res := r.texts.text(d.text)
		if res.unknown != nil {
			return res.unknown
		}
		if res.err != nil {
			return types.WrapErr(res.err)
		}
		return types.String(s)
	case d.let != nil:
		return r.letValue(d.let.index)
	case d.entries != nil:
		return r.containerValue(d)
	}
	return d.constant
}

// containerValue computes a map or list. It omits absent entries, and null in a
// map.
func (r *dataValues) containerValue(d *data) any {
	var m map[string]any
	var list []any
	if d.isMap {
		m = make(map[string]any, len(d.entries))
	} else {
		list = make([]any, 0, len(d.entries))
	}
	var unknown *types.Unknown
	for _, e := range d.entries {
		v, present := r.value(e.value), true
		switch w := v.(type) {
		case *types.Err:
			return w
		case *types.Unknown:
			unknown = types.MergeUnknowns(w, unknown)
			continue
		case *types.Optional:
			if present = w.HasValue(); present {
				v = w.GetValue()
			}
		case nil, types.Null:
			present = !d.isMap
		}
		switch {
		case !present && d.strict:
			return e.value.absent()
		case present && d.isMap:
			m[e.key] = v
		case present:
			list = append(list, v)
		}
	}
	switch {
	case unknown != nil:
		return unknown
	case d.isMap:
		return m
	}
	return list
}
