package expr

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// JSON has one type of numbers, and the API server stores 3.0 as 3: a field of the type number arrives as an integer when it
// happens to be whole. So a whole number counts as a decimal one where only a decimal one is taken.

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
