package rules

import (
	"fmt"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// A condition is one entry of conditions.
type condition struct {
	loop
	subject         string // condition "Available", for messages
	typ             *text  // literal without forEach
	when            *expr.Program
	reason, message *text // or nil
}

func (c *compiler) compileCondition(src *syntax.Condition) {
	k := condition{}
	var names []string
	k.loop, names = c.children.compileLoop(src.ForEach)
	outer := c.scope
	c.scope = c.expressions.scopeWith(names)
	k.typ = c.expressions.text(src.Type, "type")
	k.when = c.expressions.expression(src.When, expr.Bool, "when")
	if src.Reason != nil {
		k.reason = c.expressions.text(src.Reason, "reason")
	}
	if src.Message != nil {
		k.message = c.expressions.text(src.Message, "message")
	}
	c.scope = outer
	for _, name := range names {
		delete(c.shapes, name)
	}
	if src.Type != nil {
		k.subject = conditionSubject(k.typ)
		c.checkConditionType(k.typ, src)
	}
	c.rule.conditions = append(c.rule.conditions, k)
}

// checkConditionType checks what the type of a condition is computed from.
func (c *compiler) checkConditionType(t *text, src *syntax.Condition) {
	mentioned := map[string]bool{}
	for _, p := range t.programs() {
		for _, name := range p.Reads() {
			mentioned[name] = true
		}
		if trail, ok := p.Volatile(); ok {
			c.expressions.complain(p.Pos(), "type: %s changes with every write, so the type would change, too", trail).Hint =
				"build types from stable fields, such as those of spec"
		}
	}
	c.children.checkIterated(src.ForEach, mentioned, sameCondition)
}

// maxSubject is the maximum number of characters of a type in messages. There may be a
// message for each element.
const maxSubject = 100

// conditionSubject names a condition by its type as it is written.
func conditionSubject(typ *text) string {
	written := []rune(typ.String())
	if len(written) > maxSubject {
		written = append(written[:maxSubject-1], '…')
	}
	return fmt.Sprintf("condition %q", string(written))
}
