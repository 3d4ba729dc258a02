package check

import (
	"fmt"

	"reconcel/rules/source"
)

func (g *guard) at(where string) *guard {
	out := *g
	out.where = where
	return &out
}

// expression evaluates an expression, if it has a type.
func (g *guard) expression(src *source.Expr, f facts) outcome {
	t := g.expressions.checked(src)
	if t == nil {
		return outcome{}
	}
	inner := *g
	inner.t = t
	return inner.eval(t.ast.Expr(), f)
}

// node evaluates the expressions in data.
func (g *guard) node(n *source.Node, f facts) {
	if n == nil {
		return
	}
	if len(n.Parts) == 1 {
		g.expression(n.Parts[0].Expr, f)
	} else {
		g.text(n, f)
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
		t := g.expressions.checked(p.Expr)
		if t == nil {
			continue
		}
		out := g.expression(p.Expr, f)
		if _, optional := unwrapped(t.t); !optional || out.value != nil && f.include(out.key) {
			continue
		}
		if out.value != nil && out.shown != "" {
			g.warnf(t.pos(t.ast.Expr()), "%s: %s may be absent, and text needs a value: append .orValue(...)", g.where,
				out.shown)
			continue
		}
		g.warnf(t.pos(t.ast.Expr()), "%s: the value may be absent, and text needs a value: append .orValue(...)", g.where)
	}
}
