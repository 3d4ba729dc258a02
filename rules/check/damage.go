package check

import (
	"maps"
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
		holdsIt := func(src *source.Expr) bool { return src.Holds(e.Pos) }
		if r.isAbout(e) && !slices.ContainsFunc(slices.Collect(maps.Keys(r.typed)), holdsIt) {
			return true
		}
	}
	return !r.isIntact(r.src.For.When) ||
		slices.ContainsFunc(r.src.Validate, func(c *syntax.Check) bool { return !r.isIntact(c.Expression) })
}

// isIntact reports whether an expression and the lets that it mentions have types.
func (r *rule) isIntact(e *source.Expr) bool {
	return r.areIntact(map[*source.Expr]bool{}, e)
}

func (r *rule) areIntact(seen map[*source.Expr]bool, all ...*source.Expr) bool {
	for _, e := range all {
		if e == nil || seen[e] {
			continue
		}
		seen[e] = true
		t := r.checked(e)
		if t == nil || !r.areIntact(seen, r.mentioned(t.ast)...) {
			return false
		}
	}
	return true
}

// mentioned returns the expressions of the lets that an expression mentions.
func (r *rule) mentioned(a *ast.AST) []*source.Expr {
	var out []*source.Expr
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && r.lets[e.AsIdent()] != nil {
			out = append(out, r.lets[e.AsIdent()].expressions()...)
		}
	}))
	return out
}
