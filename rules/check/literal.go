package check

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// words name the values that a field holds.
var words = map[valueKind]string{
	text: "string", integer: "integer", number: "number", boolean: "boolean", list: "list", mapping: "map", fielded: "map",
	quantity: "quantity", portLike: "integer or string",
}

func (w walker) expected(p *fieldSchema) string {
	switch p.is {
	case list:
		if items := w.all.items(p); items.is != anything {
			return "list of " + words[items.is]
		}
	case mapping:
		if values := w.all.values(p); values.is != anything {
			return "map of " + words[values.is]
		}
	}
	return words[p.is]
}

// mismatch complains unless a field can hold a value of a type.
func (w walker) mismatch(pos source.Pos, p *fieldSchema, t *types.Type, where string) *source.Error {
	if w.fits(t, p) {
		return nil
	}
	return w.errorf(pos, "%s: expected %s, got %s", where, w.expected(p), expr.TypeName(t))
}

// wants reports whether a field can hold a value of a type, and complains if not.
func (w walker) wants(pos source.Pos, p *fieldSchema, t *types.Type, where string) bool {
	e := w.mismatch(pos, p, t, where)
	switch {
	case e == nil:
		return true
	case p.is == text || p.is == quantity && t.Kind() == types.StructKind:
		e.Hint = asTextHint(t)
	case p.is == integer && t.Kind() == types.DoubleKind:
		e.Hint = "write int(...)"
	case p.is == integer && t.Kind() == types.StringKind:
		e.Hint = "write int(...) if the text is a number"
	}
	return false
}

// scalar checks a literal, and reports whether its type fits.
func (w walker) scalar(n *source.Node, p *fieldSchema, where string) bool {
	switch v := n.Value.(type) {
	case string:
		return w.text(v, n.Pos, p, where)
	case int64:
		w.integer(v, n.Written, n.Pos, p, where)
	case float64:
		if p.is == integer && v == math.Trunc(v) {
			return true // 3.0 is stored as 3.
		}
		if w.literalWants(n.Written, n.Pos, p, types.DoubleType, where) {
			w.bounds(v, n.Pos, p, where)
		}
	case bool:
		w.literalWants(n.Written, n.Pos, p, types.BoolType, where)
	}
	return true
}

// literalWants is wants for a literal, which can be written as text.
func (w walker) literalWants(written string, pos source.Pos, p *fieldSchema, t *types.Type, where string) bool {
	e := w.mismatch(pos, p, t, where)
	if e != nil && p.is == text {
		e.Hint = fmt.Sprintf("write %q", written)
	}
	return e == nil
}

func (w walker) integer(v int64, written string, pos source.Pos, p *fieldSchema, where string) {
	if !w.literalWants(written, pos, p, types.IntType, where) || p.is == quantity || p.is == portLike || p.is == anything {
		return
	}
	if p.Format == "int32" && (v > math.MaxInt32 || v < math.MinInt32) {
		w.errorf(pos, "%s: %d does not fit into 32 bits", where, v)
		return
	}
	w.bounds(float64(v), pos, p, where)
	w.oneOf(v, strconv.FormatInt(v, 10), pos, p, where)
}

func (w walker) bounds(v float64, pos source.Pos, p *fieldSchema, where string) {
	switch {
	case p.Minimum != nil && p.ExclusiveMinimum && v <= *p.Minimum:
		w.errorf(pos, "%s: %v must be greater than %v", where, v, *p.Minimum)
	case p.Minimum != nil && v < *p.Minimum:
		w.errorf(pos, "%s: %v must be at least %v", where, v, *p.Minimum)
	case p.Maximum != nil && p.ExclusiveMaximum && v >= *p.Maximum:
		w.errorf(pos, "%s: %v must be less than %v", where, v, *p.Maximum)
	case p.Maximum != nil && v > *p.Maximum:
		w.errorf(pos, "%s: %v must be at most %v", where, v, *p.Maximum)
	}
}

func (w walker) oneOf(v any, shown string, pos source.Pos, p *fieldSchema, where string) {
	if len(p.Enum) == 0 {
		return
	}
	var known []string
	for _, e := range p.Enum {
		known = append(known, fmt.Sprint(e))
	}
	if slices.Contains(known, fmt.Sprint(v)) || shown == "" && p.own {
		return // Kubernetes treats "" as absent.
	}
	e := w.errorf(pos, "%s: %q is not one of %s", where, shown, strings.Join(known, ", "))
	e.Hint = source.Suggest(shown, known)
}

// text checks a literal text, and reports whether a text fits.
func (w walker) text(v string, pos source.Pos, p *fieldSchema, where string) bool {
	meant := source.Forgotten(v, w.isObject)
	switch p.is {
	case quantity:
		if _, err := resource.ParseQuantity(v); err == nil {
			return true
		}
		e := w.errorf(pos, "%s: %q is not a quantity", where, v)
		if e.Hint = "such as 500m, 2 or 64Mi"; meant != "" {
			e.Hint = "write " + meant
		}
		return false
	case text:
	default:
		e := w.mismatch(pos, p, types.StringType, where)
		switch {
		case e == nil:
			return true
		case meant != "":
			e.Hint = "write " + meant
		case p.is == integer || p.is == number || p.is == boolean:
			e.Hint = unquotedHint(v)
		}
		return false
	}
	if meant != "" {
		return true // Its value is not what is written.
	}
	w.oneOf(v, v, pos, p, where)
	length := int64(utf8.RuneCountInString(v))
	switch {
	case p.MinLength != nil && length < *p.MinLength:
		w.errorf(pos, "%s: %q has %d characters, at least %d are needed", where, v, length, *p.MinLength)
	case p.MaxLength != nil && length > *p.MaxLength:
		w.errorf(pos, "%s: has %d characters, at most %d are allowed", where, length, *p.MaxLength)
	case p.Pattern != "" && !matchesPattern(p.Pattern, v):
		w.errorf(pos, "%s: %q does not match %s", where, v, p.Pattern)
	}
	w.format(v, pos, p, where)
	return true
}

// unquotedHint suggests to write a quoted number or boolean without quotes.
func unquotedHint(v string) string {
	if _, err := strconv.ParseFloat(v, 64); err == nil || v == "true" || v == "false" {
		return "write " + v + " without quotes"
	}
	return ""
}

// matchesPattern reports whether a text matches a pattern. An invalid pattern
// matches everything.
func matchesPattern(pattern, v string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(v)
}

func (w walker) format(v string, pos source.Pos, p *fieldSchema, where string) {
	switch p.Format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			w.errorf(pos, "%s: %q is not a time", where, v).Hint = "such as 2006-01-02T15:04:05Z"
		}
	case "byte":
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			e := w.errorf(pos, "%s: is not base64", where)
			if strings.HasSuffix(where, ".data") || strings.Contains(where, ".data.") {
				e.Hint = "a Secret takes plain text in stringData"
			}
		}
	}
}
