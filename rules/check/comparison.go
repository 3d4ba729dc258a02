package check

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// comparison handles a comparison. Comparing a default with a literal tells whether
// the default was used: if x is absent, x.orValue("") != "" is false.
func (g *guard) comparison(c ast.CallExpr, f facts) outcome {
	args := c.Args()
	left, right := g.read(args[0], f), g.read(args[1], f)
	for i, side := range []outcome{left, right} {
		if side.flaws().covers(args[i]) && literalValue(args[1-i]) == types.NullValue {
			side.flaw.compareNull(c.FunctionName())
		}
	}
	a, fallback := g.absentValue(args[0], f)
	b := literalValue(args[1])
	present := fallback
	if a == nil {
		a = literalValue(args[0])
		b, present = g.absentValue(args[1], f)
	}
	out := outcome{ran: left.ran.and(right.ran)}
	if same, known := isKind(&g.src.For, args); known && (c.FunctionName() == operators.Equals ||
		c.FunctionName() == operators.NotEquals) {
		out.yes, out.no = decided(same == (c.FunctionName() == operators.Equals))
		return out
	}
	if a == nil || b == nil || present == nil {
		out.yes, out.no = boolComparison(c.FunctionName(), args, left, right)
		out.yes = out.yes.and(optionalComparison(c.FunctionName(), args, left, right))
		out.no = out.no.and(optionalComparison(opposite[c.FunctionName()], args, left, right))
		return out
	}
	if result, ok := compareLiterals(c.FunctionName(), a, b); ok {
		out.yes, out.no = unless(result, present)
	}
	return out
}

// unless returns what is known about an expression that gives a result if a field is absent.
func unless(result bool, present facts) (yes, no facts) {
	if result {
		return nil, present
	}
	return present, nil
}

// opposite are the operators that give the opposite result.
var opposite = map[string]string{operators.Equals: operators.NotEquals, operators.NotEquals: operators.Equals}

// optionalComparison returns what is known if an optional equals optional.of(), or differs
// from optional.none().
func optionalComparison(op string, args []ast.Expr, left, right outcome) facts {
	other := map[string]string{operators.Equals: "optional.of", operators.NotEquals: "optional.none"}[op]
	switch {
	case other == "":
		return nil
	case isCall(args[1], other):
		return facts(nil).with(left.value)
	case isCall(args[0], other):
		return facts(nil).with(right.value)
	}
	return nil
}

// boolComparison handles == true and the like.
func boolComparison(op string, args []ast.Expr, left, right outcome) (yes, no facts) {
	tested, literal := left, args[1]
	if literal.Kind() != ast.LiteralKind {
		tested, literal = right, args[0]
	}
	if op != operators.Equals && op != operators.NotEquals ||
		!isBool(literal, types.True) && !isBool(literal, types.False) {
		return nil, nil
	}
	if isBool(literal, types.True) == (op == operators.Equals) {
		return tested.yes, tested.no
	}
	return tested.no, tested.yes
}

// absentValue returns the value of an expression if the field that it reads is
// absent, and the facts that hold otherwise.
func (g *guard) absentValue(e ast.Expr, f facts) (ref.Val, facts) {
	if l := g.follower.letOf(g.t, e); l != nil && l.src.Expr != nil && !l.walked {
		if t := g.expressions.checked(l.src.Expr); t != nil {
			l.walked = true
			defer func() { l.walked = false }()
			inner := &guard{guarding: g.guarding, reader: g.reader, t: t, quiet: true}
			return inner.absentValue(t.ast.Expr(), f)
		}
	}
	if e.Kind() != ast.CallKind {
		return nil, nil
	}
	c := e.AsCall()
	switch c.FunctionName() {
	case "orValue":
		hushed := *g
		hushed.quiet = true
		v := hushed.eval(c.Target(), f)
		fallback := literalValue(c.Args()[0])
		if v.value == nil || v.key == "" || fallback == nil {
			return nil, nil
		}
		return fallback, facts(nil).with(v.value)
	case "size":
		of := c.Target()
		if !c.IsMemberFunction() {
			of = c.Args()[0]
		}
		v, present := g.absentValue(of, f)
		if s, ok := v.(traits.Sizer); ok && present != nil {
			return s.Size(), present
		}
	case "dyn", entriesFunction:
		return g.absentValue(c.Args()[0], f)
	}
	return nil, nil
}

// literalValue returns the value of a literal, or nil. Of maps and lists, it
// returns only empty ones.
func literalValue(e ast.Expr) ref.Val {
	switch {
	case e.Kind() == ast.LiteralKind:
		return e.AsLiteral()
	case e.Kind() == ast.ListKind && e.AsList().Size() == 0:
		return types.NewDynamicList(types.DefaultTypeAdapter, []any{})
	case e.Kind() == ast.MapKind && e.AsMap().Size() == 0:
		return types.NewDynamicMap(types.DefaultTypeAdapter, map[string]any{})
	case isCall(e, "dyn"):
		return literalValue(e.AsCall().Args()[0])
	}
	return nil
}

func compareLiterals(op string, a, b ref.Val) (result, ok bool) {
	switch op {
	case operators.Equals:
		return a.Equal(b) == types.True, true
	case operators.NotEquals:
		return a.Equal(b) != types.True, true
	}
	c, ok := a.(traits.Comparer)
	if !ok {
		return false, false
	}
	order, ok := c.Compare(b).(types.Int)
	switch op {
	case operators.Less:
		return order < 0, ok
	case operators.LessEquals:
		return order <= 0, ok
	case operators.Greater:
		return order > 0, ok
	}
	return order >= 0, ok
}

// compareTexts are functions that ask about a text.
var compareTexts = map[string]func(s, part string) bool{"startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix,
	"contains": strings.Contains}

// isKind reports whether self.kind or self.apiVersion equals a text. Both are known: a rule
// is checked for each of its kinds.
func isKind(of *syntax.For, args []ast.Expr) (same, known bool) {
	for i, arg := range args {
		text, literal := expr.LiteralString(args[1-i])
		if own := ownKind(of, arg); own != "" && literal {
			return own == text, true
		}
	}
	return false, false
}

// isOneOf reports whether self.kind or self.apiVersion is in a list of texts.
func isOneOf(of *syntax.For, e, list ast.Expr) (holds, known bool) {
	own := ownKind(of, e)
	if own == "" || list.Kind() != ast.ListKind {
		return false, false
	}
	for _, item := range list.AsList().Elements() {
		text, literal := expr.LiteralString(item)
		if !literal {
			return false, false
		}
		holds = holds || own == text
	}
	return holds, true
}

// ownKind returns the value of self.kind or self.apiVersion, or "" for another expression.
func ownKind(of *syntax.For, e ast.Expr) string {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() {
		return ""
	}
	sel := e.AsSelect()
	if sel.Operand().Kind() != ast.IdentKind || sel.Operand().AsIdent() != "self" {
		return ""
	}
	switch sel.FieldName() {
	case "kind":
		return of.Kind.Value
	case "apiVersion":
		return of.APIVersion.Value
	}
	return ""
}
