package expr

import (
	"strconv"
	"time"

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

// TextOf returns the text that a value is where the API has text. Times and durations have one form, which is that of
// string(), in fields, in text and in labels alike.
func TextOf(v ref.Val) (string, bool) {
	switch v := v.(type) {
	case types.String:
		return string(v), true
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339Nano), true
	case types.Duration:
		return strconv.FormatFloat(v.Seconds(), 'f', -1, 64) + "s", true
	}
	return "", false
}

// PrintedText returns the string form of a value inside text, or the reason why it has
// none.
func PrintedText(v ref.Val) (s, why string) {
	v, ok := Unwrap(v)
	if !ok {
		return "", "an absent value cannot be part of text: give it a default with orValue()"
	}
	if s, ok := TextOf(v); ok {
		return s, ""
	}
	switch v := v.(type) {
	case types.Int:
		return strconv.FormatInt(int64(v), 10), "" // CEL's conversion takes four times as long.
	case types.Double:
		return numberText(v), ""
	case types.Bool, types.Uint:
		if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
			return string(text), ""
		}
	}
	return "", TypeOfValue(v) + " cannot be part of text"
}

// numberText returns a number as it is in JSON, where CEL writes 1e+06.
func numberText(v types.Double) string {
	if out, err := appendFloat(nil, float64(v)); err == nil {
		return string(out)
	}
	return strconv.FormatFloat(float64(v), 'g', -1, 64)
}

// TypeOfValue returns the name of a value's type in messages.
func TypeOfValue(v ref.Val) string {
	switch name := v.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "map", "list":
		return "a " + name
	case "google.protobuf.Timestamp", "google.protobuf.Duration":
		return "a " + plainTypes[name]
	default:
		return name
	}
}

// printValue makes string() use the forms of PrintedText.
func printValue(convert func(operands) ref.Val) func(operands) ref.Val {
	return func(a operands) ref.Val {
		switch a[0].(type) {
		case types.Int, types.Double, types.Timestamp, types.Duration:
			s, _ := PrintedText(a[0])
			return types.String(s)
		}
		return convert(a)
	}
}
