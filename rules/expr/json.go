package expr

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// An Empty is an empty value.
type Empty int

// The empty values.
const (
	Null Empty = iota
	EmptyList
	EmptyMap
)

// An Omit reports whether a map field with an empty value is left out.
type Omit func(field string, value Empty) bool

// An Appender writes values as JSON, with the keys of maps sorted, so that equal
// values give equal bytes.
type Appender struct {
	Omit  Omit // nil: nothing is left out
	Limit int  // on the size of the destination; 0: none
}

// maxNesting is far beyond any object's depth and well within a stack.
const maxNesting = 200

// Append appends v. It leaves out absent optionals in maps and lists. v itself must
// not be one.
func (a *Appender) Append(dst []byte, v ref.Val) ([]byte, error) {
	return a.value(dst, v, 0)
}

// AppendNative appends a value that the JSON decoder of informers made.
func (a *Appender) AppendNative(dst []byte, v any) ([]byte, error) {
	return a.native(dst, v, 0)
}

func (a *Appender) value(dst []byte, v ref.Val, nesting int) ([]byte, error) {
	if a.Limit > 0 && len(dst) > a.Limit {
		return dst, failure("the result is too large")
	}
	switch v := v.(type) {
	case types.Null:
		return append(dst, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(dst, bool(v)), nil
	case types.String, types.Timestamp, types.Duration:
		text, _ := TextOf(v)
		return AppendString(dst, text), nil
	case types.Int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return dst, failure("a number this large cannot be stored in an object")
		}
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case types.Double:
		return appendFloat(dst, float64(v))
	case *types.Optional:
		if v.HasValue() {
			return a.value(dst, v.GetValue(), nesting)
		}
		return dst, failure("an absent value is not allowed here")
	case traits.Mapper:
		return a.mapper(dst, v, nesting+1)
	case traits.Lister:
		return a.lister(dst, v, nesting+1)
	}
	return dst, failure("a value of type " + v.Type().TypeName() + " cannot be stored in an object")
}

func (a *Appender) lister(dst []byte, v traits.Lister, nesting int) ([]byte, error) {
	if items, ok := v.Value().([]any); ok {
		return a.native(dst, items, nesting-1)
	}
	if nesting > maxNesting {
		return dst, failure("the value is nested too deeply")
	}
	dst = append(dst, '[')
	var err error
	for it := v.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		if isAbsent(item) {
			continue
		}
		if dst, err = a.value(dst, item, nesting); err != nil {
			return dst, err
		}
		dst = append(dst, ',')
	}
	return Close(dst, ']'), nil
}

func (a *Appender) mapper(dst []byte, v traits.Mapper, nesting int) ([]byte, error) {
	if fields, ok := v.Value().(map[string]any); ok {
		return a.native(dst, fields, nesting-1)
	}
	if nesting > maxNesting {
		return dst, failure("the value is nested too deeply")
	}
	keys := make([]string, 0, 8)
	for it := v.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok {
			return dst, failure("the keys of a map must be text")
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for _, key := range keys {
		value := v.Get(types.String(key))
		if isAbsent(value) {
			continue
		}
		mark := len(dst)
		dst = append(AppendString(dst, key), ':')
		start := len(dst)
		var err error
		if dst, err = a.value(dst, value, nesting); err != nil {
			return dst, err
		}
		dst = a.finish(dst, key, mark, start)
	}
	return Close(dst, '}'), nil
}

func isAbsent(v ref.Val) bool {
	o, ok := v.(*types.Optional)
	return ok && !o.HasValue()
}

// finish ends an entry that begins at mark and whose value begins at start, or
// removes it.
func (a *Appender) finish(dst []byte, key string, mark, start int) []byte {
	if a.Omit != nil && Omitted(a.Omit, key, dst[start:]) {
		return dst[:mark]
	}
	return append(dst, ',')
}

// Omitted reports whether a field with this JSON value is left out.
func Omitted(omit Omit, key string, data []byte) bool {
	switch string(data) {
	case "null":
		return omit(key, Null)
	case "[]":
		return omit(key, EmptyList)
	case "{}":
		return omit(key, EmptyMap)
	}
	return false
}

// native appends a decoded JSON value without converting it to CEL values.
func (a *Appender) native(dst []byte, v any, nesting int) ([]byte, error) {
	if a.Limit > 0 && len(dst) > a.Limit || nesting > maxNesting {
		return dst, failure("the result is too large")
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return AppendString(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case map[string]any:
		dst = append(dst, '{')
		for _, key := range sortedKeys(v) {
			if value, ok := v[key].(ref.Val); ok && isAbsent(value) {
				continue
			}
			mark := len(dst)
			dst = append(AppendString(dst, key), ':')
			start := len(dst)
			if dst, err = a.native(dst, v[key], nesting+1); err != nil {
				return dst, err
			}
			dst = a.finish(dst, key, mark, start)
		}
		return Close(dst, '}'), nil
	case []any:
		dst = append(dst, '[')
		for _, item := range v {
			if value, ok := item.(ref.Val); ok && isAbsent(value) {
				continue
			}
			if dst, err = a.native(dst, item, nesting+1); err != nil {
				return dst, err
			}
			dst = append(dst, ',')
		}
		return Close(dst, ']'), nil
	}
	return a.value(dst, types.DefaultTypeAdapter.NativeToValue(v), nesting)
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Close ends a map or list whose entries each end in a comma.
func Close(dst []byte, end byte) []byte {
	if dst[len(dst)-1] == ',' {
		dst[len(dst)-1] = end
		return dst
	}
	return append(dst, end)
}

func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, failure("an infinite number or NaN cannot be stored in an object")
	}
	// As in encoding/json, whole numbers have no point.
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = AppendText(dst, s)
	return append(dst, '"')
}

// AppendText appends the content of a JSON string, without quotes.
func AppendText(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // Each invalid byte becomes U+FFFD.
	}
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(dst, s[start:]...)
}
