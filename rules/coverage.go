package rules

import (
	"cmp"
	"slices"
	"sync"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An Expression is one expression of a program, told from others by its place
// and its rule: what a YAML alias repeats within a rule is one expression.
type Expression struct {
	Pos  source.Pos // of its first character
	Rule string     // name of the rule that it is part of
	Text string     // as it was written
}

// Expressions returns every expression of the program in the order of the
// files, as far as there is something to run. Text without ${} is none, and nor
// is the ${name} that stands for a map or list of let, which is written out
// where the name stands: the expressions in that map or list are.
func (p *Program) Expressions() []Expression { return slices.Clone(p.expressions) }

// A Coverage notes which expressions have run in the renderings that were given
// it in their Input. It may be used by any number of goroutines; its zero value
// has seen nothing.
//
// An expression has run when it has come to an end, be it with a value or with
// an error. One that had to wait for something has not: it has not shown yet
// what it would do. No expression is computed beforehand, not even a constant
// one: it runs where a rendering comes to it.
type Coverage struct {
	mutex sync.Mutex
	ran   map[Expression]bool
}

// Ran reports whether an expression has run.
func (c *Coverage) Ran(e Expression) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ran[e]
}

func (c *Coverage) note(e Expression) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ran == nil {
		c.ran = map[Expression]bool{}
	}
	c.ran[e] = true
}

// expressionOf says which of the rule's expressions a program is.
func (r *Rule) expressionOf(p *expr.Program) Expression {
	return Expression{Pos: p.Pos(), Rule: r.Name, Text: p.Text()}
}

// inOrder sorts the expressions of one rule, which are in one file, and drops
// repeated ones.
func inOrder(all []Expression) []Expression {
	slices.SortFunc(all, func(a, b Expression) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return slices.Compact(all)
}
