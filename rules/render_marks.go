package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// A mark is a label or annotation. Its key and value, as JSON, are in a span of the buffer, which is empty if it is
// absent.
type mark struct {
	key string
	at  span
}

// appendMarks appends the labels or annotations of all layers. It returns the operation that failed or waits.
func (r *writing) appendMarks(o *op) (*op, result) {
	start := len(r.buf)
	var all []mark
	for i := range o.ops {
		layer := &o.ops[i]
		if layer.kind == opGroup {
			for j := range layer.ops {
				e, from := &layer.ops[j], len(r.buf)
				if _, res := r.execute(e.ops); !res.ok() {
					return e, res
				}
				all = append(all, mark{e.key, span{from, len(r.buf)}})
			}
			continue
		}
		var res result
		if all, res = r.computeMarks(layer, all); !res.ok() {
			return layer, res
		}
	}
	slices.SortStableFunc(all, func(a, b mark) int { return strings.Compare(a.key, b.key) })
	written := slices.Clone(r.buf[start:])
	r.buf = r.buf[:start]
	for i, m := range all {
		if i == len(all)-1 || all[i+1].key != m.key {
			r.buf = append(r.buf, written[m.at.start-start:m.at.end-start]...)
		}
	}
	return o, result{}
}

// computeMarks appends labels or annotations that are one expression. It leaves out keys of reconcel: they describe
// the object that they were copied from, such as its rule or its pause.
func (r *writing) computeMarks(o *op, all []mark) ([]mark, result) {
	v, err := r.valueOf(o)
	if err != nil {
		return all, result{err: err}
	}
	if u, ok := v.(*types.Unknown); ok {
		return all, result{unknown: u}
	}
	v, ok := expr.Unwrap(v)
	if !ok || v == types.NullValue {
		return all, result{}
	}
	m, ok := v.(traits.Mapper)
	if !ok {
		return all, o.wrongValue("must be a map, got " + expr.TypeOfValue(v))
	}
	wrong := eachEntry(m, func(name string, value ref.Val) string {
		from := len(r.buf)
		text, ok := expr.TextOf(value)
		switch {
		case syntax.IsOwn(name):
			return ""
		case value == nil || value == types.NullValue:
		case !ok:
			return "the value of " + quoteJSON(name) + " must be text, got " + expr.TypeOfValue(value)
		default:
			r.buf = append(expr.AppendString(r.buf, name), ':')
			r.buf = append(expr.AppendString(r.buf, text), ',')
		}
		all = append(all, mark{name, span{from, len(r.buf)}})
		if len(r.buf) > r.limit {
			return r.tooLarge()
		}
		return ""
	})
	if wrong != "" {
		return all, o.wrongValue(wrong)
	}
	return all, result{}
}
