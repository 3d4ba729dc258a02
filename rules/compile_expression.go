package rules

import (
	"fmt"
	"slices"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// expression compiles an expression in the scope of the rule.
func (c *compiler) expression(src *source.Expr, want expr.Type, where string) *expr.Program {
	return c.compileIn(c.scope, src, want, where)
}

func (c *compiler) compileIn(scope *expr.Scope, src *source.Expr, want expr.Type, where string) *expr.Program {
	if src == nil {
		return nil // The parser has recorded an error.
	}
	checked, issues := scope.Check(src, want)
	for _, i := range issues {
		if i.Undeclared != "" && c.src.Nameless {
			continue // It may be the name of a value that could not be read.
		}
		if i.Hint = hintHabit(i, src, where); c.hintElsewhere(i.Undeclared) != "" {
			i.Hint = c.hintElsewhere(i.Undeclared)
		}
		c.complain(i.Pos, "%s: %s", where, i.Message).Hint = i.Hint
	}
	if issues != nil {
		return nil
	}
	if c.checkExistingCalls(checked, where) {
		return nil
	}
	for _, name := range checked.Reads() {
		if l := c.lets[name]; l != nil {
			c.let(l, src.Pos)
		} else if l := c.looks[name]; l != nil {
			c.lookup(l, src.Pos)
		} else if name != self && name != child {
			c.reads.add(name, src.Pos)
		}
	}
	p, err := checked.Program(c.shapes)
	if err != nil {
		c.complain(src.Pos, "%s: %v", where, err)
		return nil
	}
	c.rule.expressions = append(c.rule.expressions, c.rule.expressionOf(p))
	c.rule.loops = c.rule.loops || p.Loops()
	return p
}

// scopeWith returns the rule's scope with additional names.
func (c *compiler) scopeWith(pos source.Pos, names []string) *expr.Scope {
	if len(names) == 0 {
		return c.scope
	}
	scope, err := expr.NewScope(append(slices.Clone(names), c.declared...)...)
	if err != nil {
		c.complain(pos, "the names cannot be used together: %v", err)
		return c.scope
	}
	return scope
}

// hintElsewhere returns a hint for a name that is in scope only in another position, or
// "".
func (c *compiler) hintElsewhere(name string) string {
	switch name {
	case "":
		return ""
	case child:
		return "child is available only in readyWhen and failWhen"
	}
	for _, s := range c.src.Children {
		for _, it := range s.ForEach {
			if it.Name.Value == name || it.Index.Value == name {
				return fmt.Sprintf("%s is a name of forEach, available only in the template, readyWhen and failWhen of its child: to omit elements, filter the list", name)
			}
		}
	}
	if _, known := c.rule.vars[name]; known {
		return "only self is available here"
	}
	return ""
}

// checkExistingCalls records an error for calls of existing() with anything but the id of a
// collection, and reports whether there are any.
func (c *compiler) checkExistingCalls(checked *expr.Checked, where string) bool {
	wrong := false
	for _, call := range checked.Existing() {
		v, known := c.rule.vars[call.ID]
		hint := "write its id alone, like existing(pods)"
		switch {
		case c.many[call.ID]:
			continue
		case known && v.kind == childVariable:
			hint = call.ID + " is a single object: has(" + call.ID + ".metadata) says whether it exists"
		case known && v.kind == lookupVariable:
			hint = call.ID + " is a lookup, whose list is always complete: write " + call.ID
		}
		wrong = true
		c.complain(call.Pos, "%s: %s", where, expr.ExistingTakes).Hint = hint
	}
	return wrong
}
