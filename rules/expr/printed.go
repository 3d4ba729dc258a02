package expr

import (
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Unwrap returns the value of an optional, or nil and false if it is empty.
func Unwrap(v ref.Val) (ref.Val, bool) {
	for {
		o, ok := v.(*types.Optional)
		if !ok {
			return v, true
		}
		if !o.HasValue() {
			return nil, false
		}
		v = o.GetValue()
	}
}

// PrintedText returns the string form of a value inside text, or the reason why it has
// none.
func PrintedText(v ref.Val) (s, why string) {
	v, ok := Unwrap(v)
	if !ok {
		return "", "an absent value cannot be part of text: give it a default with orValue()"
	}
	switch v := v.(type) {
	case types.String:
		return string(v), ""
	case types.Int:
		return strconv.FormatInt(int64(v), 10), "" // CEL's conversion takes four times as long.
	case types.Bool, types.Uint, types.Double, types.Timestamp, types.Duration:
		if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
			return string(text), ""
		}
	}
	return "", TypeOfValue(v) + " cannot be part of text"
}

// TypeOfValue returns the name of a value's type in messages.
func TypeOfValue(v ref.Val) string {
	switch name := v.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "map", "list":
		return "a " + name
	default:
		return name
	}
}

// printNumber makes string() use the conversion of PrintedText, which is faster than CEL's.
func printNumber(convert func(operands) ref.Val) func(operands) ref.Val {
	return func(a operands) ref.Val {
		if n, ok := a[0].(types.Int); ok {
			return types.String(strconv.FormatInt(int64(n), 10))
		}
		return convert(a)
	}
}
