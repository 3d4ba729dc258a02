package rules

import (
	"reconcel/rules/define"
	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

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
