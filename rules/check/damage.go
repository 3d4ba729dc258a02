package check

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// damage is what did not load of a rule.
type damage struct {
	expressions map[*source.Expr]bool
	// beyond says that there is more: a misspelt key, say, of which nobody knows
	// what it would have guarded.
	beyond bool
}

func damageOf(src *syntax.Rule, complaints source.Errors) damage {
	d := damage{expressions: map[*source.Expr]bool{}}
	var all []*source.Expr
	for _, e := range complaints {
		if e.Rule != src.Name.Value {
			continue
		}
		if all == nil {
			all = ruleExpressions(src)
		}
		within := false
		for _, x := range all {
			if x.Holds(e.Pos) {
				d.expressions[x] = true
				within = true
			}
		}
		d.beyond = d.beyond || !within
	}
	return d
}

// ruleExpressions returns all expressions of a rule.
func ruleExpressions(src *syntax.Rule) []*source.Expr {
	all := []*source.Expr{src.For.When}
	data := []*source.Node{src.Patch, src.Status}
	for _, l := range src.Let {
		all, data = append(all, l.Expr), append(data, l.Data)
	}
	for _, l := range src.Lookups {
		data = append(data, l.Namespace, l.Name, l.Selector)
	}
	for _, c := range src.Validate {
		all, data = append(all, c.Expression), append(data, c.Message)
	}
	for _, ch := range slices.Concat(src.Children, src.Finalize) {
		all = append(all, ch.When, ch.Replicas, ch.MaxUnavailable, ch.ReadyWhen, ch.FailWhen)
		for _, p := range ch.IgnoreFields {
			all = append(all, p.When)
		}
		for _, it := range ch.ForEach {
			all = append(all, it.In)
		}
		data = append(data, ch.Template)
	}
	for _, c := range src.Conditions {
		all, data = append(all, c.When), append(data, c.Reason, c.Message)
	}
	for _, n := range data {
		all = append(all, expressions(nil, n)...)
	}
	return slices.DeleteFunc(all, func(e *source.Expr) bool { return e == nil })
}

// unguarded reports whether nobody can tell what guards the fields that the
// rule reads. Then to say that one may be absent might be wrong.
func (r *rule) unguarded() bool {
	return r.damage.beyond || !r.clear(r.src.For.When) ||
		slices.ContainsFunc(r.src.Validate, func(c *syntax.Check) bool { return !r.clear(c.Expression) })
}

// clear reports whether an expression and the lets that it mentions make sense.
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
				ok = r.clearOf(seen, expressions(l.src.Expr, l.src.Data)...)
			}
		}))
		if !ok {
			return false
		}
	}
	return true
}
