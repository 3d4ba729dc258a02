package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// compared warns about comparisons of a field with a value that its enum lacks.
func (r *rule) compared(t *typed, where string) {
	ast.PreOrderVisit(t.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch c := e.AsCall(); c.FunctionName() {
		case operators.Equals, operators.NotEquals:
			r.comparesEnum(t, c.Args()[0], c.Args()[1:], where)
			r.comparesEnum(t, c.Args()[1], c.Args()[:1], where)
		case operators.In:
			if values := c.Args()[1]; values.Kind() == ast.ListKind {
				r.comparesEnum(t, c.Args()[0], values.AsList().Elements(), where)
			}
		}
	}))
}

// comparesEnum warns about literals that are not in the enum of a field. "" is never
// wrong: it often stands for an absent field.
func (r *rule) comparesEnum(t *typed, field ast.Expr, literals []ast.Expr, where string) {
	enum := r.enumOf(t, field)
	for _, e := range literals {
		v, literal := literalString(e)
		if !literal || v == "" || len(enum) == 0 || slices.Contains(enum, v) || slices.Contains(defaultsOf(field), v) {
			continue
		}
		w := r.warnf(t.pos(e), "%s: the field is never %q, only %s", where, v, strings.Join(enum, ", "))
		w.Check, w.Hint = lint.EnumValue, source.Suggest(v, enum)
	}
}

// defaultsOf returns the texts that orValue gives in place of a field.
func defaultsOf(e ast.Expr) []string {
	if !isCall(e, "orValue") {
		return nil
	}
	v, _ := literalString(e.AsCall().Args()[0])
	return []string{v}
}

// enumOf returns the values of the enum of the field that an expression reads, or nil.
func (r *rule) enumOf(t *typed, e ast.Expr) []string {
	if isCall(e, "orValue") {
		e = e.AsCall().Target()
	}
	name := ""
	switch {
	case e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly():
		name = e.AsSelect().FieldName()
	case isCall(e, operators.OptSelect), isCall(e, operators.Index), isCall(e, operators.OptIndex):
		name, _ = literalString(e.AsCall().Args()[1])
	}
	from, _ := unwrapped(t.ast.GetType(expr.Operand(e).ID()))
	o := r.all.object(from)
	if name == "" || o == nil || o.schema == nil {
		return nil
	}
	p := r.all.field(o.schema, name)
	if p == nil || p.Schema == nil || p.own {
		return nil // Kubernetes adds values to its own enums.
	}
	var out []string
	for _, v := range p.Enum {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}
