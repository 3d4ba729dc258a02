package rules

import (
	"slices"
	"strings"

	"reconcel/rules/define"
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A let is a named value of a rule, or an entry of one that is a map.
type let struct {
	dependency
	src      *syntax.Let
	variable string // that expressions read
	where    string // in messages: let.name, or let.name.key
	index    int
	size     int           // the number of values in its data
	prog     *expr.Program // or
	data     *data
	entries  []*letEntry // of data that is a map with expressions
	byKey    map[string]*letEntry
}

// id names the let in messages about cycles.
func (l *let) id() string { return strings.TrimPrefix(l.where, "let.") }

// let compiles a let after the lets that it reads.
func (c *expressions) let(l *let, from source.Pos) {
	c.compileOnce(&l.dependency, l.id(), c.prefix+l.where, from, func() {
		var shape *expr.Shape
		switch {
		case l.src.Expr != nil:
			if l.prog = c.expression(l.src.Expr, expr.Any, l.where); l.prog != nil {
				shape = l.prog.Shape()
			}
		case l.entries != nil:
			l.data = c.mapOfEntries(l)
			shape = l.data.shape()
		case l.src.Data != nil:
			l.data = c.data(l.src.Data, l.where)
			shape = l.data.shape()
		}
		if !l.src.Unusable {
			c.shapes[l.variable] = shape
		}
	})
}

// programs returns the expressions of a let.
func (l *let) programs() []*expr.Program {
	if l.prog != nil {
		return []*expr.Program{l.prog}
	}
	return l.data.programs()
}

// A dependency is a let or a lookup. It is compiled before the expressions that
// read it.
type dependency struct {
	reads childReads
	state compileState
}

type compileState int

const (
	notCompiled compileState = iota
	compiling
	compiled
)

// compileOnce runs compile when a dependency is first needed. What reads the dependency at
// the position from also reads its children. subject names the dependency in the
// error about a cycle, which from closes.
func (c *expressions) compileOnce(d *dependency, id, subject string, from source.Pos, compile func()) {
	switch d.state {
	case compiling:
		path := append(slices.Clone(c.compiling[slices.Index(c.compiling, id):]), id)
		c.errorf(from, c.src.Name.Value, "%s: %s is a cycle", subject, strings.Join(path, " → "))
	case notCompiled:
		d.state = compiling
		outer := c.prefix
		c.prefix, c.compiling = "", append(c.compiling, id)
		d.reads = c.readsIn(compile)
		c.prefix, c.compiling = outer, c.compiling[:len(c.compiling)-1]
		d.state = compiled
	}
	for id := range d.reads {
		c.reads.add(id, from)
	}
}

// definitions compiles the definitions of a document once for all of its rules.
func (l *loader) definitions(src *syntax.Definitions) *expr.Definitions {
	if src == nil {
		return nil
	}
	if l.defined == nil {
		l.defined = map[*syntax.Definitions]*expr.Definitions{}
	}
	if _, done := l.defined[src]; !done {
		defined, errs := define.Compile(src, &l.budget)
		l.defined[src] = defined
		for _, e := range errs {
			l.errorf(e.Pos, "", "%s", e.Message).Hint = e.Hint
		}
	}
	return l.defined[src]
}

// newScope returns the scope of the rule's names and of its definitions.
func (c *expressions) newScope(names []string) (*expr.Scope, error) {
	if c.defined == nil {
		return expr.NewScope(names...)
	}
	return c.defined.NewScope(names...), nil
}

// readDefinition lets the rule read a value of define, and reports whether the name is
// that of one.
func (c *expressions) readDefinition(name string) bool {
	def := c.defined.FindVariable(name)
	if def == nil {
		return false
	}
	if _, known := c.rule.vars[name]; !known {
		c.rule.vars[name] = variable{definitionVariable, len(c.rule.defined)}
		c.rule.defined = append(c.rule.defined, def)
	}
	return true
}

// noteDefinitions records that the definitions have run which a program uses, directly or
// through other definitions.
func (c *Coverage) noteDefinitions(used []*expr.Definition) {
	for _, def := range used {
		isNew := false
		for _, e := range expressionsOf(def) {
			isNew = c.noteRun(e) || isNew
		}
		if isNew {
			c.noteDefinitions(def.Uses())
		}
	}
}

// expressionsOf returns the expressions of a definition. They belong to no rule.
func expressionsOf(def *expr.Definition) (all []Expression) {
	for _, src := range def.Expressions() {
		all = append(all, Expression{Pos: src.At(1, 0), Text: src.Text})
	}
	return all
}
