package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// These functions measure how large a result can be, by the arguments alone.

// excessOutput describes a length beyond maxOutput.
func excessOutput(length int, of string) string {
	if length <= maxOutput {
		return ""
	}
	return fmt.Sprintf("more than %d KiB of %s", maxOutput>>10, of)
}

// sumOutput is for '+', which can double a let or a cel.bind.
func sumOutput(a operands) string {
	switch l := a[0].(type) {
	case types.String:
		if r, ok := a[1].(types.String); ok {
			return excessOutput(len(l)+len(r), "text")
		}
	case types.Bytes:
		if r, ok := a[1].(types.Bytes); ok {
			return excessOutput(len(l)+len(r), "bytes")
		}
	case traits.Lister:
		if r, ok := a[1].(traits.Lister); ok && sizeOf(l)+sizeOf(r) > maxElements {
			return fmt.Sprintf("a list of more than %d elements", maxElements)
		}
	}
	return ""
}

func replaceOutput(a operands) string {
	s, from, to := textOf(a[0]), textOf(a[1]), textOf(a[2])
	times := strings.Count(s, from)
	if most, ok := a[3].(types.Int); ok && most >= 0 {
		times = int(min(types.Int(times), most))
	}
	return excessOutput(len(s)+times*max(0, len(to)-len(from)), "text")
}

func joinOutput(a operands) string {
	list, ok := a[0].(traits.Lister)
	if !ok {
		return ""
	}
	separator := len(textOf(a[1]))
	total := 0
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxOutput; {
		total += len(textOf(it.Next())) + separator
	}
	return excessOutput(total, "text")
}

// formatOutput adds up the length of the arguments. %s makes a text of itself, and a verb at most four characters of
// one.
func formatOutput(a operands) string {
	format := textOf(a[0])
	list, ok := a[1].(traits.Lister)
	if !ok {
		return ""
	}
	verbs, total := verbsOf(format), len(format)
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxOutput; {
		verb, arg := byte(0), it.Next()
		if len(verbs) > 0 {
			verb, verbs = verbs[0], verbs[1:]
		}
		if text, ok := arg.(types.String); ok && verb == 's' {
			total += len(text)
		} else {
			total += formattedLength(arg, maxOutput-total)
		}
	}
	return excessOutput(total, "text")
}

// verbsOf returns the letters of the verbs of a format, such as s of %s and f of %.2f.
func verbsOf(format string) (verbs []byte) {
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return verbs
		}
		if rest = strings.TrimLeft(rest, ".0123456789"); rest == "" {
			return verbs
		}
		if rest[0] != '%' {
			verbs = append(verbs, rest[0])
		}
		format = rest[1:]
	}
}

func formattedLength(v ref.Val, left int) int {
	total := 0
	switch v := v.(type) {
	case types.String:
		return 4 * len(v)
	case types.Bytes:
		return 4 * len(v)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && total <= left; {
			key := it.Next()
			total += 4 + formattedLength(key, left-total) + formattedLength(v.Get(key), left-total)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && total <= left; {
			total += 2 + formattedLength(it.Next(), left-total)
		}
	case types.Double:
		return 512 // hundreds of digits, and the largest precision, which is 100
	default:
		return 64
	}
	return total
}

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
