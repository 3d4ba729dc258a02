package check

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// damaged reports whether loading the rules found an error in an expression.
func (r *rule) damaged(src *source.Expr) bool {
	return slices.ContainsFunc(r.complaints, func(e *source.Error) bool { return r.isAbout(e) && src.Holds(e.Pos) })
}

func (r *rule) isAbout(e *source.Error) bool { return e.Rule == r.src.Name.Value }

// unguarded reports whether the guards of the fields that the rule reads cannot be
// known: a guard is damaged, or something outside of expressions is, like a
// misspelt key that may hold a guard. Warnings about absent fields could be wrong.
func (r *rule) unguarded() bool {
	for _, e := range r.complaints {
		if !r.isAbout(e) {
			continue
		}
		inExpression := false
		for src := range r.typed {
			inExpression = inExpression || src.Holds(e.Pos)
		}
		if !inExpression {
			return true
		}
	}
	return !r.clear(r.src.For.When) ||
		slices.ContainsFunc(r.src.Validate, func(c *syntax.Check) bool { return !r.clear(c.Expression) })
}

// clear reports whether an expression and the lets that it mentions have types.
func (r *rule) clear(e *source.Expr) bool {
	return r.clearOf(map[*source.Expr]bool{}, e)
}

func (r *rule) clearOf(seen map[*source.Expr]bool, all ...*source.Expr) bool {
	for _, e := range all {
		if e == nil || seen[e] {
			continue
		}
		seen[e] = true
		t := r.typed[e]
		if t == nil || t.ast == nil {
			return false
		}
		ok := true
		ast.PreOrderVisit(t.ast.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
			if x.Kind() != ast.IdentKind || !ok {
				return
			}
			if l := r.lets[x.AsIdent()]; l != nil {
				ok = r.clearOf(seen, l.expressions()...)
			}
		}))
		if !ok {
			return false
		}
	}
	return true
}
