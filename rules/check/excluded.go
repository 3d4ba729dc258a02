package check

import (
	"github.com/google/cel-go/common/ast"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/syntax"
)

// childKey begins the path of a child among the facts. No field of the primary has such a path.
const childKey = "child" + step + step

// excludable returns the children that may be excluded by their when, as values by id. A child with forEach or replicas
// is then an empty list, which everybody can read.
func (r *rule) excludable() map[string]*value {
	out := map[string]*value{}
	for _, c := range r.src.Children {
		if c.When != nil && c.Replicas == nil && len(c.ForEach) == 0 {
			out[c.ID.Value] = &value{key: childKey + c.ID.Value, shown: c.ID.Value}
		}
	}
	return out
}

// mayLack prepares the guard for the expressions of a child without a when. If one of them reads an excluded child, the
// reader is excluded as well, although no when of its own says so.
func (g *guard) mayLack(ch *syntax.Child) {
	if ch.When == nil {
		g.excludable = g.rule.excludable()
	}
}

// excluded returns the child that an expression names, if it may be excluded.
func (g *guard) excluded(e ast.Expr) *value {
	if e.Kind() != ast.IdentKind {
		return nil
	}
	for _, v := range g.vars {
		if v.name == e.AsIdent() {
			return nil
		}
	}
	return g.excludable[e.AsIdent()]
}

// readsExcluded warns about an operand that may be an excluded child.
func (g *guard) readsExcluded(operand ast.Expr, f facts) {
	v := g.excluded(operand)
	if v == nil || g.quiet || f.include(v.key) {
		return
	}
	w := g.rule.complaint(expr.Position(g.t.src, g.t.ast, operand.ID()),
		"%s: %s has a when, and while that is false, the child that reads it is not created, or is deleted, too", g.where, v.shown)
	w.Hint = "give both the same when, or read " + v.shown + ".? or included(" + v.shown + ")"
	w.Check = lint.ExcludedReader
	g.rule.absences = append(g.rule.absences, w)
}

// included returns what is known if a child is wanted, or exists.
func (g *guard) included(c ast.CallExpr) (outcome, bool) {
	switch expr.IDFunction(c.FunctionName()) {
	case expr.Included, expr.Exists:
		if args := c.Args(); len(args) == 1 && !c.IsMemberFunction() {
			if v := g.excluded(args[0]); v != nil {
				return outcome{yes: facts(nil).with(v)}, true
			}
		}
	case expr.Existing, expr.ByKey, expr.Previous:
		return outcome{}, true // They read a list.
	}
	return outcome{}, false
}
