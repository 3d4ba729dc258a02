package rules

import (
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A let is a named value of a rule.
type let struct {
	src   *syntax.Let
	index int
	prog  *expr.Program // or
	data  *data
	reads map[string]bool // children that it reads
	state letState
}

type letState int

const (
	letNew letState = iota
	letBusy
	letDone
)

// let compiles a let after those that it mentions.
func (c *compiler) let(l *let, from source.Pos) {
	name := l.src.Name.Value
	switch l.state {
	case letDone:
		return
	case letBusy:
		c.complain(from, "%s: %s", expr.Join("let", name), c.cycle(name))
		return
	}
	l.state = letBusy
	outer := c.prefix
	c.prefix = ""
	l.reads = c.watched(func() {
		where := expr.Join("let", name)
		var shape *expr.Shape
		switch {
		case l.src.Expr != nil:
			if l.prog = c.expression(l.src.Expr, expr.Any, where); l.prog != nil {
				shape = l.prog.Shape()
			}
		case l.src.Data != nil:
			l.data = c.data(l.src.Data, where)
			shape = l.data.shape()
		}
		if !l.src.Unfit {
			c.shapes[name] = shape
		}
	})
	c.prefix = outer
	l.state = letDone
}

// cycle prints the lets that lead from name back to it.
func (c *compiler) cycle(name string) string {
	var busy []string
	for _, l := range c.rule.lets {
		if l.state == letBusy && l.src.Name.Value != name {
			busy = append(busy, l.src.Name.Value)
		}
	}
	slices.Sort(busy)
	path := c.pathBack(name, name, map[string]bool{}, busy)
	if path == nil {
		return "it reads itself, through a lookup"
	}
	return strings.Join(append([]string{name}, path...), " → ") + " is a cycle"
}

// pathBack finds a way from one let to another over those being compiled.
func (c *compiler) pathBack(at, goal string, seen map[string]bool, busy []string) []string {
	seen[at] = true
	for _, next := range c.mentions(c.lets[at].src) {
		if next == goal {
			return []string{goal}
		}
		if !seen[next] && slices.Contains(busy, next) {
			if rest := c.pathBack(next, goal, seen, busy); rest != nil {
				return append([]string{next}, rest...)
			}
		}
	}
	return nil
}

// mentions returns the names that a let's expressions read.
func (c *compiler) mentions(l *syntax.Let) []string {
	var out []string
	for _, e := range expressions(l) {
		if checked, _ := c.scope.Check(e, expr.Any); checked != nil {
			out = append(out, checked.Reads()...)
		}
	}
	return out
}

// expressions returns all expressions of a let.
func expressions(l *syntax.Let) []*source.Expr {
	if l.Expr != nil {
		return []*source.Expr{l.Expr}
	}
	return nodeExpressions(l.Data)
}

// nodeExpressions returns all expressions of data.
func nodeExpressions(n *source.Node) []*source.Expr {
	if n == nil {
		return nil
	}
	var out []*source.Expr
	for _, p := range n.Parts {
		if p.Expr != nil {
			out = append(out, p.Expr)
		}
	}
	for _, item := range n.Items {
		out = append(out, nodeExpressions(item)...)
	}
	for _, f := range n.Fields {
		out = append(out, nodeExpressions(f.Value)...)
	}
	return out
}
