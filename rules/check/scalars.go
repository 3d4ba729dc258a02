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
	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// Scalars compares literals with the schemas of their fields, and other values by their type.
type scalars struct {
	*subject
	reporter *reporter
}

// mismatch complains unless a field can hold a value of a type.
func (s *scalars) mismatch(pos source.Pos, p *fieldSchema, t *types.Type, where string) *source.Error {
	if s.all.fits(t, p) {
		return nil
	}
	return s.reporter.errorf(pos, "%s: expected %s, got %s", where, s.all.expected(p), expr.TypeName(t))
}

// wants reports whether a field can hold a value of a type, and complains if not.
func (s *scalars) wants(pos source.Pos, p *fieldSchema, t *types.Type, where string) bool {
	e := s.mismatch(pos, p, t, where)
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
func (s *scalars) scalar(n *source.Node, p *fieldSchema, where string) bool {
	switch v := n.Value.(type) {
	case string:
		return s.text(v, n.Pos, p, where)
	case int64:
		s.integer(v, n.Written, n.Pos, p, where)
	case float64:
		if p.is == integer && v == math.Trunc(v) {
			return true // 3.0 is stored as 3.
		}
		if s.literalWants(n.Written, n.Pos, p, types.DoubleType, where) {
			s.bounds(v, n.Pos, p, where)
		}
	case bool:
		s.literalWants(n.Written, n.Pos, p, types.BoolType, where)
	}
	return true
}

// literalWants is wants for a literal, which can be written as text.
func (s *scalars) literalWants(written string, pos source.Pos, p *fieldSchema, t *types.Type, where string) bool {
	e := s.mismatch(pos, p, t, where)
	if e != nil && p.is == text {
		e.Hint = fmt.Sprintf("write %q", written)
	}
	return e == nil
}

func (s *scalars) integer(v int64, written string, pos source.Pos, p *fieldSchema, where string) {
	if !s.literalWants(written, pos, p, types.IntType, where) || p.is == quantity || p.is == portLike || p.is == anything {
		return
	}
	if p.Format == "int32" && (v > math.MaxInt32 || v < math.MinInt32) {
		s.reporter.errorf(pos, "%s: %d does not fit into 32 bits", where, v)
		return
	}
	s.bounds(float64(v), pos, p, where)
	s.oneOf(v, strconv.FormatInt(v, 10), pos, p, where)
}

func (s *scalars) bounds(v float64, pos source.Pos, p *fieldSchema, where string) {
	must := func(be string, limit float64) {
		s.reporter.errorf(pos, "%s: %s must be %s %s", where, plainText(v), be, plainText(limit))
	}
	switch {
	case p.Minimum != nil && p.ExclusiveMinimum && v <= *p.Minimum:
		must("greater than", *p.Minimum)
	case p.Minimum != nil && v < *p.Minimum:
		must("at least", *p.Minimum)
	case p.Maximum != nil && p.ExclusiveMaximum && v >= *p.Maximum:
		must("less than", *p.Maximum)
	case p.Maximum != nil && v > *p.Maximum:
		must("at most", *p.Maximum)
	}
}

func (s *scalars) oneOf(v any, shown string, pos source.Pos, p *fieldSchema, where string) {
	if len(p.Enum) == 0 {
		return
	}
	var known []string
	for _, e := range p.Enum {
		known = append(known, plainText(e))
	}
	if slices.Contains(known, plainText(v)) || shown == "" && p.own {
		return // Kubernetes treats "" as absent.
	}
	e := s.reporter.errorf(pos, "%s: %q is not one of %s", where, shown, strings.Join(known, ", "))
	e.Hint = source.Suggest(shown, known)
}

// plainText prints a value of a schema. Numbers have no exponent: JSON numbers are read as floating-point numbers.
func plainText(v any) string {
	switch v := v.(type) {
	case int64:
		return plainText(float64(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// text checks a literal text, and reports whether a text fits.
func (s *scalars) text(v string, pos source.Pos, p *fieldSchema, where string) bool {
	meant := source.Forgotten(v, s.objects.has)
	switch p.is {
	case quantity:
		if _, err := resource.ParseQuantity(v); err == nil {
			return true
		}
		e := s.reporter.errorf(pos, "%s: %q is not a quantity", where, v)
		if e.Hint = "such as 500m, 2 or 64Mi"; meant != "" {
			e.Hint = "write " + meant
		}
		return false
	case text:
	default:
		e := s.mismatch(pos, p, types.StringType, where)
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
	s.oneOf(v, v, pos, p, where)
	length := int64(utf8.RuneCountInString(v))
	switch {
	case p.MinLength != nil && length < *p.MinLength:
		s.reporter.errorf(pos, "%s: %q has %d characters, at least %d are needed", where, v, length, *p.MinLength)
	case p.MaxLength != nil && length > *p.MaxLength:
		s.reporter.errorf(pos, "%s: has %d characters, at most %d are allowed", where, length, *p.MaxLength)
	case p.Pattern != "" && !matchesPattern(p.Pattern, v):
		s.reporter.errorf(pos, "%s: %q does not match %s", where, v, p.Pattern)
	}
	s.format(v, pos, p, where)
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

func (s *scalars) format(v string, pos source.Pos, p *fieldSchema, where string) {
	switch p.Format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			s.reporter.errorf(pos, "%s: %q is not a time", where, v).Hint = "such as 2006-01-02T15:04:05Z"
		}
	case "byte":
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			e := s.reporter.errorf(pos, "%s: is not base64", where)
			if strings.HasSuffix(where, ".data") || strings.Contains(where, ".data.") {
				e.Hint = "a Secret takes plain text in stringData"
			}
		}
	}
}

// Texts checks values that must be text, and text that looks like something else.
type texts struct {
	*subject
	reporter    *reporter
	expressions *expressions
}

// text checks a value that must be text.
func (r *texts) text(n *source.Node, sc *expr.TypedScope, where string) {
	if n == nil || n.Kind != source.Interp {
		r.forgotten(n, where)
		return
	}
	if len(n.Parts) > 1 {
		r.textParts(n, sc, where)
		return
	}
	t := r.expressions.infer(n.Parts[0].Expr, sc, where)
	inner, _ := unwrapped(t.t)
	switch inner.Kind() {
	case types.DynKind, types.StringKind, types.TimestampKind, types.DurationKind:
	default:
		r.reporter.errorf(n.Parts[0].Expr.Pos, "%s: must be text, got %s", where,
			expr.TypeName(inner)).Hint = asTextHint(inner)
	}
}

// textParts checks the expressions that are parts of a text.
func (r *texts) textParts(n *source.Node, sc *expr.TypedScope, where string) {
	for _, p := range n.Parts {
		if p.Expr == nil {
			continue
		}
		t := r.expressions.infer(p.Expr, sc, where)
		inner, _ := unwrapped(t.t)
		switch inner.Kind() {
		case types.NullTypeKind:
			r.reporter.errorf(p.Expr.Pos, "%s: null cannot be part of text", where)
		case types.ListKind, types.MapKind, types.StructKind, types.BytesKind, types.TypeKind, types.OpaqueKind:
			r.reporter.errorf(p.Expr.Pos, "%s: a %s cannot be part of text", where,
				expr.TypeName(inner)).Hint = asTextHint(inner)
		}
	}
}

// asTextHint suggests how to convert a value into text.
func asTextHint(t *types.Type) string {
	switch t.Kind() {
	case types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind:
		return "write string(...)"
	case types.StructKind, types.OpaqueKind:
		switch expr.TypeName(t) {
		case "quantity", "ip", "cidr":
			return "write string(...)"
		}
	}
	return ""
}

// forgotten warns about text that looks like an expression.
func (r *texts) forgotten(n *source.Node, where string) {
	if n == nil || n.Kind != source.Text || r.ledger.said[finding{n.Pos, ""}] {
		return
	}
	if meant := source.Forgotten(n.Literal().Value, r.objects.has); meant != "" {
		r.ledger.said[finding{n.Pos, ""}] = true // The data of a let is checked wherever it is used.
		r.reporter.warnf(lint.LiteralText, n.Pos, "%s: %q is literal text, not an expression", where,
			n.Literal().Value).Hint = "write " + meant
	}
}
