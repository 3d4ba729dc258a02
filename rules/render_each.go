package rules

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
)

// loops are over the elements of forEach.
type loops struct {
	*runState
	evaluator *evaluator
	spending  *spending
}

// perCombination is the cost of evaluating the list of an iterator, in values.
const perCombination = 50

// eachElement visits each element of a list, or each combination of elements from several
// lists. The values of the iterators are in values, where the expressions of later lists
// read them. It ends at the first result that is not ok, and returns it.
func (r *loops) eachElement(iterators []iterator, values *[]any, visit func() result) result {
	if len(iterators) == 0 {
		return visit()
	}
	it := &iterators[0]
	list, res := r.listElements(it.in)
	if !res.ok() {
		return res
	}
	if !r.spending.Work(perCombination + len(list)) {
		return failedAt(it.in.Pos(), tooManyCombinations)
	}
	outer := len(*values)
	for i, element := range list {
		*values = append((*values)[:outer], r.in.Trace.element(*it, i, element))
		if it.indexed {
			*values = append(*values, types.Int(i))
		}
		if res := r.eachElement(iterators[1:], values, visit); !res.ok() {
			return res
		}
	}
	*values = (*values)[:outer]
	return result{}
}

// listElements evaluates the list of an iterator.
func (r *loops) listElements(p *expr.Program) ([]ref.Val, result) {
	v, res := r.evaluator.evalPresent(p, "must be a list, but the value is absent: give it a default with orValue([])")
	if !res.ok() {
		return nil, res
	}
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, failedAt(p.Pos(), "must be a list, got "+expr.TypeOfValue(v))
	}
	var out []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		if u, ok := element.(*types.Unknown); ok {
			return nil, result{unknown: u}
		}
		out = append(out, element)
	}
	return out, result{}
}
