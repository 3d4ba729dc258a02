package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// compileFor compiles the rule's for.
func (c *compiler) compileFor() {
	f := c.src.For
	c.rule.Namespaces = valuesOf(f.Namespaces)
	if f.Selector != nil {
		selector, err := expr.SelectorOf(f.Selector.Plain())
		if err != nil {
			c.expressions.complain(f.Selector.Pos, "%s.selector: %v", f.Entry, err)
		}
		c.rule.Selector = selector
	}
	if f.When == nil {
		return
	}
	if c.rule.when = c.expressions.expression(f.When, expr.Bool, f.Entry+".when"); c.rule.when != nil {
		c.checkSelection(c.rule.when)
	}
}

// checkSelection records an error if for.when reads more than the primary. The selection
// of a primary cannot depend on other objects: reconcel would have to wait for them, and
// the rule's own ones exist only after the selection.
func (c *compiler) checkSelection(when *expr.Program) {
	const only = "for.when may read only self, and lets that read nothing else"
	where := c.src.For.Entry + ".when"
	seen := map[string]bool{}
	var visit func(reader string, programs ...*expr.Program) bool
	visit = func(reader string, programs ...*expr.Program) bool {
		for _, p := range programs {
			for _, name := range p.Reads() {
				l, look := c.lets[name], c.looks[name]
				switch {
				case name == self || seen[name] || c.defined.FindVariable(name) != nil:
				case l != nil:
					seen[name] = true
					if visit(fmt.Sprintf("let %q ", l.id()), l.programs()...) {
						return true
					}
				case look != nil:
					c.expressions.complain(when.Pos(), "%s: %sreads the lookup %q: %s", where, reader, name, only)
					return true
				default:
					c.expressions.complain(when.Pos(), "%s: %sreads the child %q: %s", where, reader, name, only)
					return true
				}
			}
		}
		return false
	}
	visit("", when)
}

// allow is the access of a rule beyond the namespace of its primary.
type allow struct {
	clusterScoped  []schema.GroupKind
	namespaces     []string // names or globs
	readNamespaces []string // names or globs
}

func (c *compiler) compileAllow() {
	for _, k := range c.src.Allow.ClusterScoped {
		c.rule.allow.clusterScoped = append(c.rule.allow.clusterScoped, k.GroupKind)
	}
	c.rule.allow.namespaces = valuesOf(c.src.Allow.Namespaces)
	c.rule.allow.readNamespaces = valuesOf(c.src.Allow.ReadNamespaces)
}

func valuesOf(list []source.String) (out []string) {
	for _, s := range list {
		out = append(out, s.Value)
	}
	return out
}

// compileAccount sets the ServiceAccount that the rule impersonates.
func (c *compiler) compileAccount() {
	if src := c.src.Account; src.Name != "" {
		c.rule.Account, c.rule.accountPos = &Account{Namespace: src.Namespace, Name: src.Name}, src.Pos
	}
}

// A check is one entry of validate.
type check struct {
	prog    *expr.Program
	reason  Reason // or ""
	message *text  // or nil
}

func (c *compiler) compileCheck(src *syntax.Check) {
	k := check{prog: c.expressions.expression(src.Expression, expr.Bool, "expression"), reason: Reason(src.Reason.Value)}
	if src.Message != nil {
		k.message = c.expressions.text(src.Message, "message")
	}
	c.rule.checks = append(c.rule.checks, k)
}

// compileStatus compiles the rule's status.
func (c *compiler) compileStatus() {
	if c.src.Status == nil {
		return
	}
	b := &builder{c: c.expressions, lenient: true}
	b.appendFields(sortedFields(c.src.Status), "status")
	c.rule.status = b.template()
	c.rule.statusPaths = map[string][]string{}
	c.statusPaths(c.src.Status, "status", nil)
	for _, f := range c.src.Status.Fields {
		c.rule.StatusKeys = append(c.rule.StatusKeys, f.Key.Value)
	}
	slices.Sort(c.rule.StatusKeys)
}

// statusPaths records the keys that lead to each field of the status, by its name in messages. All of a list has the
// path of the list.
func (c *compiler) statusPaths(n *source.Node, where string, keys []string) {
	c.rule.statusPaths[where] = keys
	for _, f := range n.Fields {
		c.statusPaths(f.Value, expr.Join(where, f.Key.Value), append(slices.Clone(keys), f.Key.Value))
	}
	for i, item := range n.Items {
		c.statusPaths(item, fmt.Sprintf("%s[%d]", where, i), keys)
	}
}

// A condition is one entry of conditions.
type condition struct {
	loop
	subject         string // condition "Available", for messages
	typ             *text  // literal without forEach
	when            *expr.Program
	reason, message *text // or nil
	event           *text // the type of its Events, or nil
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
	if src.Event != nil {
		k.event = c.expressions.text(src.Event, "event")
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
