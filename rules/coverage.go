package rules

import (
	"cmp"
	"slices"
	"sync"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An Expression is one expression of a program, identified by its position and
// rule. An expression that a YAML alias repeats within a rule counts once.
type Expression struct {
	Pos  source.Pos // of its first character
	Rule string     // name of its rule
	Text string     // as written in the file
}

// Expressions returns every expression of the program that can run, in the order of
// the files. Text without ${} is not an expression. A ${name} of a let that is a
// map or list is not one either, because the let is written out there. The
// expressions in that map or list are returned.
func (p *Program) Expressions() []Expression { return slices.Clone(p.expressions) }

// A Coverage records which expressions have run in the renderings whose Input
// refers to it. It is safe for concurrent use. Its zero value is empty.
//
// An expression has run when it returned a value or an error. An expression that
// waits has not run. Constant expressions count as well, because none is computed
// at compile time.
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

// noteRun reports whether the expression runs for the first time.
func (c *Coverage) noteRun(e Expression) (isNew bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ran == nil {
		c.ran = map[Expression]bool{}
	}
	isNew = !c.ran[e]
	c.ran[e] = true
	return isNew
}

// expressionOf returns the Expression of a compiled program.
func (r *Rule) expressionOf(p *expr.Program) Expression {
	return Expression{Pos: p.Pos(), Rule: r.Name, Text: p.Text()}
}

// inOrder sorts the expressions of one rule, which are all in one file, and removes
// duplicates.
func inOrder(all []Expression) []Expression {
	slices.SortFunc(all, func(a, b Expression) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return slices.Compact(all)
}
