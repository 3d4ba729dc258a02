package expr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL does not define the order of a map's entries in loops, and cel-go takes Go's
// random order. To give the same object for the same input, loops over maps run in
// the order of the keys.

// A sortedRange sorts the keys of maps, and bounds loops. CEL's error for anything else has no position.
type sortedRange struct{ interpreter.InterpretableV2 }

func (s *sortedRange) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := s.InterpretableV2.Exec(frame)
	n := 0
	switch {
	case isContainer(v):
		n = sizeOf(operands{v}.unfollowed()[0])
	case !types.IsUnknownOrError(v):
		return types.LabelErrNode(s.ID(), failf("a value of type %s cannot be iterated", typeName(v)))
	}
	if n > maxLoop {
		return types.LabelErrNode(s.ID(), failf("a loop runs over at most %d elements", maxLoop))
	}
	if m, ok := v.(traits.Mapper); ok {
		return sortedMap{m}
	}
	return v
}

// Eval is Exec for callers of CEL's older interface.
func (s *sortedRange) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

// A sortedMap iterates in the order of its keys.
type sortedMap struct{ traits.Mapper }

// Keys returns the keys of a map, sorted.
func Keys(m traits.Mapper) traits.Iterator { return sortedMap{m}.Iterator() }

func (m sortedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

func compareKeys(a, b ref.Val) int {
	if s, ok := a.(types.String); ok {
		if t, ok := b.(types.String); ok {
			return strings.Compare(string(s), string(t))
		}
	}
	if c, ok := a.(traits.Comparer); ok {
		if n, ok := c.Compare(b).(types.Int); ok {
			return int(n)
		}
	}
	return strings.Compare(a.Type().TypeName(), b.Type().TypeName())
}
