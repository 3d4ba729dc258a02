package check

import (
	"fmt"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// guard evaluates all expressions of the rule with the facts at their positions.
func (r *rule) guard() {
	g := &guard{rule: r, work: &work{}}
	known := g.at("for.when").expression(r.src.For.When, nil).truly()
	for _, c := range r.src.Validate {
		r.prefix = c.Entry + ": "
		out := g.at("expression").expression(c.Expression, known)
		g.at("message").text(c.Message, known.and(out.falsely()))
		known = known.and(out.truly())
	}
	for _, l := range r.src.Lookups {
		r.prefix = l.Entry + ": "
		g.at("namespace").text(l.Namespace, known)
		g.at("name").text(l.Name, known)
		g.at("selector").node(l.Selector, known)
	}
	for _, ch := range r.src.Children {
		g.child(ch, known)
	}
	for _, ch := range r.src.Finalize {
		g.child(ch, nil) // During deletion, for.when and validate are not evaluated.
	}
	r.prefix = ""
	g.at("patch").node(r.src.Patch, known)
	g.at("status").node(r.src.Status, known)
	for _, c := range r.src.Conditions {
		r.prefix = c.Entry + ": "
		g.at("when").expression(c.When, known)
		g.at("reason").text(c.Reason, known)
		g.at("message").text(c.Message, known)
	}
	r.prefix = ""
}

func (g *guard) at(where string) *guard {
	out := *g
	out.where = where
	return &out
}

func (g *guard) child(ch *syntax.Child, f facts) {
	if !g.rule.clear(ch.When) {
		return
	}
	g.rule.prefix = ch.Entry + ": "
	f = f.and(g.at("when").expression(ch.When, f).truly())
	g.at("replicas").expression(ch.Replicas, f)
	g.at("maxUnavailable").expression(ch.MaxUnavailable, f)
	g = g.at("")
	for i, it := range ch.ForEach {
		list := g.at(fmt.Sprintf("forEach[%d].in", i)).expression(it.In, f)
		item, known := g.bind(list.value, it.Name.Value)
		g.vars = append(g.vars, named{it.Name.Value, item}, named{it.Index.Value, nil})
		f = f.and(known)
	}
	metadata := ch.Template.At("metadata")
	g.at("template.metadata.name").text(metadata.At("name"), f)
	g.at("template.metadata.generateName").text(metadata.At("generateName"), f)
	g.at("template.metadata.namespace").text(metadata.At("namespace"), f)
	g.at("template").node(ch.Template, f)
	for _, p := range ch.IgnoreFields {
		g.at(p.Entry+".when").expression(p.When, f)
	}
	g.at("readyWhen").expression(ch.ReadyWhen, f)
	g.at("failWhen").expression(ch.FailWhen, f)
}

// expression evaluates an expression, if it has a type.
func (g *guard) expression(src *source.Expr, f facts) outcome {
	if src == nil {
		return outcome{}
	}
	t := g.rule.typed[src]
	if t == nil || t.ast == nil {
		return outcome{}
	}
	inner := *g
	inner.t = t
	return inner.eval(t.ast.Expr(), f)
}

// node evaluates the expressions in data.
func (g *guard) node(n *source.Node, f facts) {
	switch {
	case n == nil:
	case n.Kind == source.Interp && len(n.Parts) > 1:
		g.text(n, f)
	case n.Kind == source.Interp:
		g.expression(n.Parts[0].Expr, f)
	}
	if n == nil {
		return
	}
	for i, item := range n.Items {
		g.at(fmt.Sprintf("%s[%d]", g.where, i)).node(item, f)
	}
	for _, field := range n.Fields {
		g.at(joinPath(g.where, field.Key.Value)).node(field.Value, f)
	}
}

// text evaluates the expressions in a text, in which nothing may be absent.
func (g *guard) text(n *source.Node, f facts) {
	if n == nil {
		return
	}
	for _, p := range n.Parts {
		if p.Expr == nil {
			continue
		}
		out := g.expression(p.Expr, f)
		t := g.rule.typed[p.Expr]
		if t == nil || t.ast == nil || g.quiet {
			continue
		}
		if _, optional := unwrapped(t.t); !optional || out.value != nil && f[out.key] {
			continue
		}
		if out.value != nil && out.shown != "" {
			g.rule.warnf(t.pos(t.ast.Expr()), "%s: %s may be absent, and text needs a value: append .orValue(...)", g.where, out.shown)
			continue
		}
		g.rule.warnf(t.pos(t.ast.Expr()), "%s: the value may be absent, and text needs a value: append .orValue(...)", g.where)
	}
}
