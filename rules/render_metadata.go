package rules

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
)

// computeMetadata evaluates metadata that is one expression, for the operations that write
// its fields.
func (r *writing) computeMetadata(o *op) result {
	v, res := r.evaluator.evalPresent(o.prog, "must be a map, but the value is absent")
	if !res.ok() {
		return res
	}
	m, ok := v.(traits.Mapper)
	if !ok {
		return o.wrongValue("must be a map, got " + expr.TypeOfValue(v))
	}
	wrong := eachEntry(m, func(key string, value ref.Val) string {
		if value == nil || value == types.NullValue {
			return "" // It is left out.
		}
		if why := r.current.Child.refusesMetadata(key); why != "" {
			return key + " " + why
		}
		return ""
	})
	if wrong != "" {
		return o.wrongValue(wrong)
	}
	r.metadata = m
	return result{}
}
