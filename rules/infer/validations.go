package infer

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/crd"
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// validations returns the checks of the rules that the API server can make: those that read
// nothing but fields whose types it knows, outside metadata and status, and that are cheap for
// values of any size.
func (p *primary) validations(d *crd.Definition) (out []crd.Validation) {
	whole := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	if d.Spec != nil {
		whole.Properties["spec"] = *d.Spec
	}
	whole.Required = []string{"spec"}
	if d.Fields != nil {
		maps.Copy(whole.Properties, d.Fields.Properties)
		whole.Required = append(whole.Required, d.Fields.Required...)
	}
	for _, r := range p.rules {
		for _, c := range r.Validate {
			if c.Expression == nil {
				continue
			}
			parsed := expr.Parse(c.Expression)
			if parsed == nil || !evaluable(parsed.Expr(), whole) {
				continue
			}
			v := everywhere(c.Expression)
			v.Needs = needsOf(parsed.Expr())
			v = v.In(whole)
			v.Message = messageOf(c)
			if !slices.ContainsFunc(out, func(o crd.Validation) bool { return reflect.DeepEqual(o, v) }) {
				out = append(out, v)
			}
		}
	}
	return out
}

// messageOf returns the message of a check, which the API server requires if the check has several lines.
func messageOf(c *syntax.Check) string {
	if c.Message != nil && c.Message.Kind == source.Text {
		if text := oneLine(c.Message.Literal().Value); text != "" {
			return text
		}
	}
	if strings.ContainsAny(strings.TrimSpace(c.Expression.Text), lineBreaks) {
		return "failed rule: " + oneLine(c.Expression.Text)
	}
	return ""
}

const lineBreaks = "\r\n"

// oneLine joins the lines of a text: the API server accepts a message of one line only.
func oneLine(text string) string {
	lines := strings.FieldsFunc(strings.TrimSpace(text), func(c rune) bool { return strings.ContainsRune(lineBreaks, c) })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}

// everywhere returns a check with all of its places.
func everywhere(check *source.Expr) (v crd.Validation) {
	for _, p := range Places(check) {
		v.Path, v.Rules = p.Path, append(v.Rules, p.Rule)
	}
	return v
}

// cheap are the functions that the API server has, too, and whose cost it bounds.
var cheap = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true,
	operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true,
	operators.Greater: true, operators.GreaterEquals: true,
	operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Modulo: true,
	operators.Negate: true, operators.In: true, operators.OptSelect: true,
	"size": true, "startsWith": true, "endsWith": true, "orValue": true, "hasValue": true,
}

// evaluable reports whether the API server can evaluate an expression.
func evaluable(e ast.Expr, self *spec.Schema) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return e.AsLiteral() != types.NullValue // It has no comparison with null.
	case ast.ListKind:
		return !slices.ContainsFunc(e.AsList().Elements(), func(item ast.Expr) bool { return !evaluable(item, self) })
	case ast.SelectKind:
		s := schemaAt(e, self)
		return s != nil && (e.AsSelect().IsTestOnly() || isPlain(s))
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() == operators.OptSelect {
			s := schemaAt(e, self)
			return s != nil && isPlain(s)
		}
		if !cheap[c.FunctionName()] || c.IsMemberFunction() && !evaluable(c.Target(), self) {
			return false
		}
		return !slices.ContainsFunc(c.Args(), func(arg ast.Expr) bool { return !evaluable(arg, self) })
	}
	return false
}

// isPlain reports whether a value of a schema is of the same type to the API server as to the rules. It reads a date
// as a time, for example.
func isPlain(s *spec.Schema) bool {
	return !s.Type.Contains("string") || !slices.Contains([]string{"byte", "date", "date-time", "duration"}, s.Format)
}

// plainName are the names that the API server does not escape.
var plainName = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// reserved are words that the API server escapes.
var reserved = []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
	"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}

// schemaAt returns the schema of a field of self, or nil if its type is not known.
func schemaAt(e ast.Expr, self *spec.Schema) *spec.Schema {
	var of ast.Expr
	var name string
	switch {
	case e.Kind() == ast.IdentKind && e.AsIdent() == "self":
		return self
	case e.Kind() == ast.SelectKind:
		of, name = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.OptSelect:
		key, _ := e.AsCall().Args()[1].AsLiteral().(types.String)
		of, name = e.AsCall().Args()[0], string(key)
	default:
		return nil
	}
	parent := schemaAt(of, self)
	if parent == nil || !plainName.MatchString(name) || slices.Contains(reserved, name) {
		return nil
	}
	if p, known := parent.Properties[name]; known && len(p.Type) == 1 {
		return &p
	}
	return nil
}
