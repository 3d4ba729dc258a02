package rules

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// expressions compile the expressions of a rule with the lets and lookups that they read.
type expressions struct{ *compilation }

// expression compiles an expression in the scope of the rule.
func (c *expressions) expression(src *source.Expr, want expr.Type, where string) *expr.Program {
	return c.compileIn(c.scope, src, want, where)
}

func (c *expressions) compileIn(scope *expr.Scope, src *source.Expr, want expr.Type, where string) *expr.Program {
	if checked := c.check(scope, src, want, where); checked != nil {
		return c.program(checked, where)
	}
	return nil
}

// check checks an expression, and compiles the lets and lookups that it reads. It returns
// nil after an error.
func (c *expressions) check(scope *expr.Scope, src *source.Expr, want expr.Type, where string) *expr.Checked {
	if src == nil {
		return nil // The parser has recorded an error.
	}
	checked, issues := scope.Check(src, want)
	entry := c.within[src]
	for more := entry.variables(issues); more != nil; more = entry.variables(issues) {
		scope = scope.With(more...)
		checked, issues = scope.Check(src, want)
	}
	for _, i := range issues {
		if i.Follows || i.Undeclared != "" && c.src.Nameless ||
			cmp.Or(i.Undeclared, i.Function) != "" && c.src.Definitions != nil && c.src.Definitions.Nameless {
			continue // It may be the name of a value that could not be read.
		}
		if i.Undeclared != "" {
			i.Hint = cmp.Or(i.Hint, c.suggest(i.Undeclared, scope))
		}
		i.Hint = cmp.Or(c.hintElsewhere(i.Undeclared), hintHabit(i, src))
		text := meantAsText(i, src, where)
		c.complain(i.Pos, "%s: %s", where, i.Message).Hint = cmp.Or(i.Hint, text)
		if text != "" {
			break // What follows is part of the text.
		}
	}
	if issues != nil {
		return nil
	}
	if c.checkIDCalls(checked, where) || entry != nil && !c.readEntries(entry, checked, src, where) {
		return nil
	}
	for _, used := range checked.Uses() {
		c.uses[used] = true
	}
	for _, name := range checked.Reads() {
		if l := c.lets[name]; l != nil {
			c.let(l, src.Pos)
		} else if l := c.looks[name]; l != nil {
			c.lookup(l, src.Pos)
		} else if name != self && name != child && !c.readDefinition(name) {
			c.reads.add(name, src.Pos)
		}
	}
	return checked
}

// program compiles an expression that was checked.
func (c *expressions) program(checked *expr.Checked, where string) *expr.Program {
	p, err := checked.Program(c.shapes)
	if err != nil {
		c.complain(err.Pos, "%s: %s", where, err.Message)
		return nil
	}
	c.rule.expressions = append(c.rule.expressions, c.rule.expressionOf(p))
	c.rule.loops = c.rule.loops || p.Loops()
	return p
}

// suggest returns the hint for a name that is not declared.
func (c *expressions) suggest(name string, scope *expr.Scope) string {
	if id, ok := expr.PreviousOf(name); ok {
		return c.Suggest(id, maps.Keys(c.indexes()))
	}
	return c.Suggest(name, scope.Names())
}

// scopeWith returns the rule's scope with additional names.
func (c *expressions) scopeWith(names []string) *expr.Scope {
	if len(names) == 0 {
		return c.names
	}
	return c.names.With(names...)
}

// hintElsewhere returns a hint for a name that is in scope only in another position, or
// "".
func (c *expressions) hintElsewhere(name string) string {
	switch name {
	case "":
		return ""
	case self:
		if c.src.For.Cluster {
			return "a rule with for: cluster has no primary: read objects with lookups"
		}
	case child:
		return "child is available only in readyWhen and failWhen"
	}
	if where := c.iterated()[name]; where != "" {
		return fmt.Sprintf("%s is a name of forEach, available only in %s", name, where)
	}
	return ""
}

// iterators returns the names of all iterators, and where they are available.
func (c *expressions) iterators() map[string]string {
	names := map[string]string{}
	add := func(forEach []*syntax.Iterator, where string) {
		for _, it := range forEach {
			names[it.Name.Value], names[it.Index.Value] = where, where
		}
	}
	for _, s := range c.src.Conditions {
		add(s.ForEach, "its condition")
	}
	for _, s := range c.src.Children {
		add(s.ForEach, "the template, readyWhen and failWhen of its child: to omit elements, filter the list")
	}
	return names
}

// checkIDCalls records an error for calls of functions of ids with anything else, and
// reports whether there are any.
func (c *expressions) checkIDCalls(checked *expr.Checked, where string) bool {
	wrong := false
	for _, call := range checked.Calls() {
		c.keyed[call.ID] = c.keyed[call.ID] || call.Function == expr.ByKey
		if hint := c.hintID(call); hint != "" {
			wrong = true
			c.complain(call.Pos, "%s: %s", where, call.Function.Takes()).Hint = hint
		}
	}
	return wrong
}

// hasElements reports whether a child has forEach.
func (c *expressions) hasElements(id string) bool {
	return slices.ContainsFunc(c.src.Children,
		func(s *syntax.Child) bool { return s.ID.Value == id && len(s.ForEach) > 0 })
}

// hintID returns what to write instead of a call, or "" if its id is right.
func (c *expressions) hintID(call expr.Call) string {
	v, known := c.rule.vars[call.ID]
	isChild, isLookup := known && v.kind == childVariable, known && v.kind == lookupVariable
	isList := c.many[call.ID] || isLookup && c.looks[call.ID].src.Name == nil
	switch {
	case call.Function == expr.Included && isChild,
		call.Function == expr.Exists && (isChild || isLookup) && !isList,
		call.Function == expr.Existing && isChild && isList,
		call.Function == expr.ByKey && isChild && c.hasElements(call.ID):
		return ""
	case call.Function == expr.ByKey:
		return "only the objects of forEach have elements"
	case call.Function == expr.Existing && isChild:
		return call.ID + " is a single object: exists(" + call.ID + ") says whether it exists"
	case call.Function == expr.Existing && isLookup:
		return call.ID + " is a lookup, whose list is always complete: write " + call.ID
	case call.Function == expr.Exists && isChild:
		return call.ID + " is a list: existing(" + call.ID + ") are its objects that exist"
	case call.Function == expr.Exists && isLookup:
		return call.ID + " is a list: size(" + call.ID + ") > 0 says whether it has objects"
	case call.Function == expr.Included && isLookup:
		return call.ID + " is a lookup, which is never excluded"
	}
	return call.Function.Hint()
}

// shellVariable matches the name of an environment variable.
var shellVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// hintHabit returns how CEL expresses a construct of another language, or "".
func hintHabit(i expr.Issue, src *source.Expr) string {
	function, isCall := strings.CutPrefix(i.Message, "undeclared function '")
	if isCall {
		i.Undeclared = strings.TrimSuffix(function, "'")
	}
	name := strings.TrimPrefix(i.Undeclared, ".")
	if hint := source.HintName(name); hint != "" && (isCall || i.Hint == "") { // A name of the rule is nearer.
		return hint
	}
	if name == src.Text && shellVariable.MatchString(name) && i.Hint == "" {
		return "for the text ${" + name + "}, write $${" + name + "}"
	}
	if hint := source.HintOperator(src.Text); hint != "" && strings.HasPrefix(i.Message, "syntax error: ") {
		return hint
	}
	return i.Hint
}

// meantAsText returns the hint for a let that must have been meant as text, or "".
func meantAsText(i expr.Issue, src *source.Expr, where string) string {
	let, isLet := strings.CutPrefix(where, "let.")
	broken := i.Undeclared != "" || strings.HasPrefix(i.Message, "syntax error: ")
	if !isLet || i.Hint != "" || !broken || strings.ContainsAny(let, ".[") || !source.IsPlainText(src.Text) {
		return ""
	}
	return "text needs quotes of its own: '\"" + strings.TrimSpace(src.Text) + "\"'"
}
