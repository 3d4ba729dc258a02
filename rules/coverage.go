package rules

import (
	"cmp"
	"slices"
	"sync"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An Expression is one expression of a program, identified by its position and
// rule: an expression that a YAML alias repeats within a rule is one.
type Expression struct {
	Pos  source.Pos // of its first character
	Rule string     // name of the rule that it is part of
	Text string     // as it was written
}

// Expressions returns every expression of the program that can run, in the order
// of the files. Text without ${} is not an expression. Neither is a ${name} that
// stands for a map or list of let, which is written out there: the expressions in
// that map or list are.
func (p *Program) Expressions() []Expression { return slices.Clone(p.expressions) }

// A Coverage records which expressions have run in the renderings that have it in
// their Input. It may be used by any number of goroutines; its zero value is empty.
//
// An expression has run when it gave a value or an error. One that had to wait has
// not run. Constant expressions count as well: none is computed at compile time.
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

// expressionOf returns the expression of a program of the rule.
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
