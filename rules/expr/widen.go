package expr

import (
	"slices"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// JSON has one type of numbers, and the API server stores 3.0 as 3. Where a schema says that a
// field holds decimal numbers, it holds doubles. Elsewhere a decimal number arrives as an integer
// when it happens to be whole. So a whole number counts as a decimal one where only a decimal one
// is taken, and the other way round.

// mostExact is the largest whole number up to which a double has every one.
const mostExact = 1 << 53

// Whole returns a number as an integer, if it is whole.
func Whole(v ref.Val) (n types.Int, ok bool) {
	switch v := v.(type) {
	case types.Int:
		return v, true
	case types.Double:
		n = types.Int(v)
		return n, -mostExact <= v && v <= mostExact && types.Double(n) == v
	}
	return 0, false
}

// takesOneType are the functions that fail, without saying that they do not take the types, for
// numbers of another type, or of several.
var takesOneType = map[string]bool{"sort": true, sortBy: true, "format": true}

// withWholes returns the arguments of a failed call with integers in place of whole doubles. In a list with other
// numbers, all are doubles instead, but for format(), which takes each element for itself. It
// returns nil if no argument has changed.
func withWholes(function string, args []ref.Val) []ref.Val {
	out, changed := slices.Clone(args), false
	for i, arg := range args {
		switch arg := arg.(type) {
		case types.Double:
			if n, ok := Whole(arg); ok {
				out[i], changed = n, true
			}
		case traits.Lister:
			if list := ofOneType(arg, function == "format"); list != nil {
				out[i], changed = list, true
			}
		}
	}
	if !changed {
		return nil
	}
	return out
}

// ofOneType returns a list in which all numbers have one type, or each whole one is an integer. It
// returns nil if the list is like that.
func ofOneType(list traits.Lister, each bool) ref.Val {
	var all []ref.Val
	wholes, doubles, integers := 0, 0, 0
	for it := list.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		all = append(all, v)
		_, whole := Whole(v)
		switch v.(type) {
		case types.Double:
			doubles++
			if whole {
				wholes++
			}
		case types.Int:
			integers++
		}
	}
	toIntegers := each || wholes == doubles
	if toIntegers && wholes == 0 || !toIntegers && integers == 0 {
		return nil
	}
	for i, v := range all {
		if n, ok := Whole(v); ok && toIntegers {
			all[i] = n
		} else if n, ok := asDouble(v); ok && !toIntegers {
			all[i] = n
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// withDoubles makes a call with doubles in place of integers, or returns nil if it takes no doubles or has none.
func withDoubles(function string, args []ref.Val) ref.Val {
	switch len(args) {
	case 1:
		if n, isInt := args[0].(types.Int); isInt {
			return ofWhole(function, types.Double(n))
		}
	case 2:
		a, one := asDouble(args[0])
		b, other := asDouble(args[1])
		if !one || !other {
			return nil
		}
		switch function {
		case operators.Add:
			return a + b
		case operators.Subtract:
			return a - b
		case operators.Multiply:
			return a * b
		case operators.Divide:
			return a.Divide(b)
		}
	}
	return nil
}

func asDouble(v ref.Val) (n types.Double, ok bool) {
	switch v := v.(type) {
	case types.Int:
		return types.Double(v), true
	case types.Double:
		return v, true
	}
	return 0, false
}

// ofWhole returns the result of a function that takes decimal numbers only, for a whole one.
func ofWhole(function string, n types.Double) ref.Val {
	switch function {
	case "math.ceil", "math.floor", "math.round", "math.trunc":
		return n
	case "math.isNaN", "math.isInf":
		return types.False
	case "math.isFinite":
		return types.True
	}
	return nil
}
