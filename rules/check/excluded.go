package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// lenient returns a guard for an operand whose absence the expression allows, such as that of .? and has().
func (g *guard) lenient(operand ast.Expr) *guard {
	if root := rootOf(operand); root.Kind() != ast.IdentKind && !isCall(root, operators.Conditional) {
		return g
	}
	out := *g
	out.reader = nil
	return &out
}

// rootOf returns the expression at which the selections of an operand begin.
func rootOf(e ast.Expr) ast.Expr {
	for expr.Operand(e) != e {
		e = expr.Operand(e)
	}
	return e
}

// read evaluates an operand that must exist.
func (g *guard) read(e ast.Expr, f facts) outcome {
	out := g.eval(e, f)
	g.readsExcluded(e, out, f)
	return out
}

// sizesOf returns the expressions that decide how many objects a child has.
func sizesOf(ch *syntax.Child) (out []*source.Expr) {
	if ch.Replicas != nil {
		out = append(out, ch.Replicas)
	}
	for _, it := range ch.ForEach {
		out = append(out, it.In)
	}
	return out
}

// readsExcluded notes that the reader is excluded together with the child that a value is. It is an error if the reader
// has no when of its own, which could say so.
func (g *guard) readsExcluded(e ast.Expr, of outcome, f facts) {
	// What a call hands on is read in the call.
	if g.reader == nil || g.quiet || of.value == nil || e.Kind() == ast.CallKind {
		return
	}
	id, isChild := strings.CutPrefix(of.key, madeKey)
	c := g.excludable[id]
	if !isChild || c == nil || f.include(of.key) || g.holds(c.When, f) {
		return
	}
	if with := g.ledger.found.ExcludedWith; !slices.Contains(with[g.reader], id) {
		with[g.reader] = append(with[g.reader], id)
	}
	if g.reader.When != nil || g.follower.readSame(sizesOf(g.reader), c.When) {
		return // What decides about the reader may agree with the when.
	}
	w := g.reporter.complaint(expr.Position(g.t.src, g.t.ast, e.ID()),
		"%s: %s has a when, and while that is false, %q, which reads it, is not created, or is deleted, although it has no "+
			"when", g.where, id, g.reader.ID.Value)
	w.Hint = "ask included(" + id + ") first, or read " + id + ".?; give " + g.reader.ID.Value +
		" the same when if it is to be deleted, too"
	w.Check = lint.ExcludedReader
	g.absences.keep(w)
}

// listLookup evaluates what selects the objects of a lookup that is a list, where the list is read: it is not known if
// that reads an excluded child. A lookup of one object is awaited then.
func (g *guard) listLookup(id string, f facts) {
	for _, l := range g.src.Lookups {
		if l.ID.Value != id || l.Name != nil {
			continue
		}
		outer := g.prefix
		g.prefix = l.Entry + ": "
		inner := &guard{guarding: g.guarding, reader: g.reader}
		inner.at("namespace").node(l.Namespace, f)
		inner.at("names").node(l.Names, f)
		inner.at("selector").node(l.Selector, f)
		g.prefix = outer
	}
}

// included returns what is known if a child is wanted, or exists.
func (g *guard) included(c ast.CallExpr, f facts) (outcome, bool) {
	switch expr.IDFunction(c.FunctionName()) {
	case expr.Included, expr.Exists:
		if args := c.Args(); len(args) == 1 && !c.IsMemberFunction() && args[0].Kind() == ast.IdentKind {
			id := args[0].AsIdent()
			out := outcome{yes: facts{madeKey + id: true}}
			if child := g.excludable[id]; child != nil {
				hushed := *g
				hushed.quiet, hushed.vars = true, nil
				out.yes = out.yes.and(hushed.expression(child.When, f).truly())
			}
			return out, true
		}
	case expr.Existing, expr.ByKey, expr.Previous:
		return outcome{}, true // They read a list.
	}
	return outcome{}, false
}
