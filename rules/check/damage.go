package check

import (
	"cmp"
	"slices"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A damage is the positions of the complaints about a rule, in the order of inFiles.
type damage []source.Pos

func inFiles(a, b source.Pos) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// in returns the first complaint in an expression and the one after the last.
func (d damage) in(src *source.Expr) (from, to int) {
	from, _ = slices.BinarySearchFunc(d, src.Pos, inFiles)
	for to = from; to < len(d) && src.Holds(d[to]); to++ {
	}
	return from, to
}

// touches reports whether loading the rules found an error in an expression.
func (d damage) touches(src *source.Expr) bool {
	from, to := d.in(src)
	return from < to
}

// Integrity says which expressions loading has not damaged.
type integrity struct {
	*subject
	expressions *expressions
	follower    *follower

	intact map[*source.Expr]bool // what isIntact has found
}

// unguarded reports whether the guards of the fields that the rule reads cannot be
// known: a guard is damaged, or something outside of expressions is, like a
// misspelt key that may hold a guard. Warnings about absent fields could be wrong.
func (r *integrity) unguarded() bool {
	inside := map[int]bool{}
	for src := range r.typed {
		for from, to := r.damage.in(src); from < to; from++ {
			inside[from] = true
		}
	}
	return len(inside) < len(r.damage) || !r.isIntact(r.src.For.When) ||
		slices.ContainsFunc(r.src.Validate, func(c *syntax.Check) bool { return !r.isIntact(c.Expression) })
}

// isIntact reports whether an expression and the lets that it mentions have types.
func (r *integrity) isIntact(e *source.Expr) bool {
	if e == nil {
		return true
	}
	intact, known := r.intact[e]
	if known {
		return intact
	}
	r.intact[e] = true // Lets cannot form a cycle. This is a second line of defence.
	t := r.expressions.checked(e)
	r.intact[e] = t != nil && !slices.ContainsFunc(r.follower.mentioned(t.ast),
		func(e *source.Expr) bool { return !r.isIntact(e) })
	return r.intact[e]
}
