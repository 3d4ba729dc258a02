package check

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/debug"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// Facts may also be that a condition is true or false, or that a value equals a literal. Conditions are compared by
// their text: what two different texts say in common is not known, except for comparisons of one value with literals.
const (
	trueKey   = "true" + step + step
	falseKey  = "false" + step + step
	equalsKey = "equals" + step + step
)

// textOf identifies an expression, whatever form its calls and fields are written in: x.size() is size(x), and x["a"]
// is x.a.
func textOf(e ast.Expr) string { return rewritten(e, toUsualForm) }

// presentTextOf identifies what x.?a.orValue(b) is if x.a is present: x.a. It returns "" for other expressions.
func presentTextOf(e ast.Expr) string {
	if !isCall(e, "orValue") {
		return ""
	}
	return rewritten(e.AsCall().Target(), func(factory ast.ExprFactory, e ast.Expr) {
		toUsualForm(factory, e)
		if name, ok := optionalField(e); ok {
			e.SetKindCase(factory.NewSelect(e.ID(), e.AsCall().Args()[0], name))
		}
	})
}

// rewritten prints a copy of an expression with all its nodes rewritten.
func rewritten(e ast.Expr, rewrite func(factory ast.ExprFactory, e ast.Expr)) string {
	factory := ast.NewExprFactory()
	out := factory.CopyExpr(e)
	ast.PostOrderVisit(out, ast.NewExprVisitor(func(e ast.Expr) { rewrite(factory, e) }))
	return debug.ToDebugString(out)
}

func toUsualForm(factory ast.ExprFactory, e ast.Expr) {
	switch {
	case isCall(e, overloads.Size) && e.AsCall().IsMemberFunction():
		e.SetKindCase(factory.NewCall(e.ID(), overloads.Size, e.AsCall().Target()))
	case isCall(e, operators.Index):
		if name, ok := expr.LiteralString(e.AsCall().Args()[1]); ok {
			e.SetKindCase(factory.NewSelect(e.ID(), e.AsCall().Args()[0], name))
		}
	}
}

// optionalField returns the field of x.?a or x[?"a"].
func optionalField(e ast.Expr) (name string, ok bool) {
	if !isCall(e, operators.OptSelect) && !isCall(e, operators.OptIndex) {
		return "", false
	}
	return expr.LiteralString(e.AsCall().Args()[1])
}

// decides adds the result of a condition to what is known if it is true, or false.
func (g *guard) decides(e ast.Expr, out outcome) outcome {
	if len(g.excludable) == 0 || e.Kind() == ast.LiteralKind {
		return out
	}
	if t, _ := unwrapped(g.t.typeOf(e)); t.Kind() != types.BoolKind && t.Kind() != types.DynKind {
		return out
	}
	if equal, of, literal := equality(e); of != nil {
		same := facts{equalsKey + textOf(of) + step + textOf(literal): true}
		if equal {
			out.yes = out.yes.and(same)
		} else {
			out.no = out.no.and(same)
		}
	}
	text := textOf(e)
	out.yes, out.no = out.yes.and(facts{trueKey + text: true}), out.no.and(facts{falseKey + text: true})
	if present := presentTextOf(e); present != "" {
		switch fallback := e.AsCall().Args()[0]; {
		case isBool(fallback, types.False):
			out.yes = out.yes.and(facts{trueKey + present: true})
		case isBool(fallback, types.True):
			out.no = out.no.and(facts{falseKey + present: true})
		}
	}
	return out
}

// equality returns the value that is compared with a literal, or nil, and whether the comparison is for equality.
func equality(e ast.Expr) (equal bool, of, literal ast.Expr) {
	if !isCall(e, operators.Equals) && !isCall(e, operators.NotEquals) {
		return false, nil, nil
	}
	equal, args := isCall(e, operators.Equals), e.AsCall().Args()
	switch {
	case args[1].Kind() == ast.LiteralKind:
		return equal, args[0], args[1]
	case args[0].Kind() == ast.LiteralKind:
		return equal, args[1], args[0]
	}
	return false, nil, nil
}

// holds reports whether the facts show that a condition is true.
func (g *guard) holds(condition *source.Expr, f facts) bool {
	t := g.expressions.checked(condition)
	if t == nil || f[never] {
		return true // Nothing is known about it.
	}
	inner := *g
	inner.t, inner.vars, inner.quiet, inner.reader = t, nil, true, nil
	return inner.proves(f, t.ast.Expr(), true, 0)
}

// proves reports whether the facts show that an expression has a result.
func (g *guard) proves(f facts, e ast.Expr, result bool, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if l := g.follower.letOf(g.t, e); l != nil && l.src.Expr != nil {
		if t := g.expressions.checked(l.src.Expr); t != nil {
			inner := *g
			inner.t = t
			if inner.proves(f, t.ast.Expr(), result, depth+1) {
				return true
			}
		}
	}
	for _, text := range []string{textOf(e), presentTextOf(e)} {
		if result && f[trueKey+text] || !result && f[falseKey+text] {
			return true
		}
	}
	if equal, of, literal := equality(e); of != nil {
		return provesEquality(f, of, literal, result == equal)
	}
	switch {
	case isBool(e, types.Bool(result)):
		return true
	case e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly(), isCall(e, "hasValue"):
		present := g.evalNode(e, f).yes
		return result && len(present) > 0 && f.have(present)
	case e.Kind() != ast.CallKind:
		return false
	}
	args := e.AsCall().Args()
	switch e.AsCall().FunctionName() {
	case operators.LogicalNot:
		return g.proves(f, args[0], !result, depth+1)
	case operators.LogicalAnd, operators.LogicalOr:
		left, right := g.proves(f, args[0], result, depth+1), g.proves(f, args[1], result, depth+1)
		if result == isCall(e, operators.LogicalAnd) {
			return left && right
		}
		return left || right
	case operators.In:
		return provesMembership(f, args[0], args[1], result)
	}
	return false
}

// provesEquality handles a comparison of a value with a literal. A value that equals one literal
// differs from all others.
func provesEquality(f facts, of, literal ast.Expr, equal bool) bool {
	for _, value := range []string{textOf(of), presentTextOf(of)} {
		for key := range f {
			if text, known := strings.CutPrefix(key, equalsKey+value+step); known && (text == textOf(literal)) == equal {
				return true
			}
		}
	}
	return false
}

// provesMembership handles a value in a list of literals.
func provesMembership(f facts, of, list ast.Expr, result bool) bool {
	if list.Kind() != ast.ListKind {
		return false
	}
	for _, value := range []string{textOf(of), presentTextOf(of)} {
		for key := range f {
			if text, known := strings.CutPrefix(key, equalsKey+value+step); known && contains(list.AsList(), text) == result {
				return true
			}
		}
	}
	return false
}

func contains(l ast.ListExpr, text string) bool {
	for _, item := range l.Elements() {
		if textOf(item) == text {
			return true
		}
	}
	return false
}

// have reports whether all other facts are among these.
func (f facts) have(other facts) bool {
	for key := range other {
		if !f.include(key) {
			return false
		}
	}
	return true
}
