package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// Operations checks operations on literals.
type operations struct {
	*subject
	reporter *reporter
}

// compared warns about comparisons of a field with a value that its enum lacks.
func (r *operations) compared(t *typed, where string) {
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
func (r *operations) comparesEnum(t *typed, field ast.Expr, literals []ast.Expr, where string) {
	enum, closed := r.enumOf(t, field)
	for _, e := range literals {
		v, literal := expr.LiteralString(e)
		if !literal || v == "" || len(enum) == 0 || slices.Contains(enum, v) || slices.Contains(defaultsOf(field), v) {
			continue
		}
		if !closed && source.Suggest(v, enum) == "" {
			continue
		}
		r.reporter.warnf(lint.EnumValue, t.pos(e), "%s: the field is never %q, only %s", where, v,
			strings.Join(enum, ", ")).Hint = source.Suggest(v, enum)
	}
}

// defaultsOf returns the texts that orValue gives in place of a field.
func defaultsOf(e ast.Expr) []string {
	if !isCall(e, "orValue") {
		return nil
	}
	v, _ := expr.LiteralString(e.AsCall().Args()[0])
	return []string{v}
}

// conditionStatus are the values of the status of a condition, for which Kubernetes'
// schemas have no enum: https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#ConditionStatus.
var conditionStatus = []string{"False", "True", "Unknown"}

// enumOf returns the values of the enum of the field that an expression reads, or none,
// and whether the enum is closed: Kubernetes adds values to its own.
func (r *operations) enumOf(t *typed, e ast.Expr) (values []string, closed bool) {
	if isCall(e, "orValue") {
		e = e.AsCall().Target()
	}
	name := ""
	switch {
	case e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly():
		name = e.AsSelect().FieldName()
	case isCall(e, operators.OptSelect), isCall(e, operators.Index), isCall(e, operators.OptIndex):
		name, _ = expr.LiteralString(e.AsCall().Args()[1])
	}
	from, _ := unwrapped(t.typeOf(expr.Operand(e)))
	o := r.all.object(from)
	if name == "" || o == nil || o.schema == nil {
		return nil, false
	}
	p := r.all.field(o.schema, name)
	switch {
	case p == nil:
		return nil, false
	case p.own && name == "status" && strings.HasSuffix(o.name, "Condition"):
		return conditionStatus, true
	}
	for _, v := range p.Enum {
		s, _ := v.(string)
		values = append(values, s)
	}
	return values, !p.own
}

// constants complains about operations on literals that always fail: a division by 0, and
// an index outside of a list.
func (r *operations) constants(t *typed, where string) {
	ast.PreOrderVisit(t.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		from, by := e.AsCall().Args()[0], e.AsCall().Args()[1]
		n, literal := literalInt(by)
		if !literal {
			return
		}
		switch name := e.AsCall().FunctionName(); {
		case (name == operators.Divide || name == operators.Modulo) && n == 0:
			r.reporter.errorf(t.pos(by), "%s: a division by 0 always fails", where).Check = lint.ConstantError
		case name == operators.Index && from.Kind() == ast.ListKind && (n < 0 || n >= int64(from.AsList().Size())):
			r.reporter.errorf(t.pos(by), "%s: the list has %d elements, and none with the index %d", where, from.AsList().Size(),
				n).Check = lint.ConstantError
		}
	}))
}

func literalInt(e ast.Expr) (int64, bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	n, ok := e.AsLiteral().(types.Int)
	return int64(n), ok
}
