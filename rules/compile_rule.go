package rules

import (
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
		selector, err := selectorOf(f.Selector.Plain())
		if err != nil {
			c.complain(f.Selector.Pos, "for.selector: %v", err)
		}
		c.rule.Selector = selector
	}
	if f.When != nil {
		// The selection of a primary cannot depend on the rule's own objects.
		scope, err := expr.NewScope(self)
		if err != nil {
			c.complain(f.When.Pos, "for.when: %v", err)
			return
		}
		c.rule.when = c.compileIn(scope, f.When, expr.Bool, "for.when")
	}
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
	message *text // or nil
}

func (c *compiler) check(src *syntax.Check) {
	k := check{prog: c.expression(src.Expression, expr.Bool, "expression")}
	if src.Message != nil {
		k.message = c.text(src.Message, "message")
	}
	c.rule.checks = append(c.rule.checks, k)
}

// A condition is one entry of conditions.
type condition struct {
	typ             string
	when            *expr.Program
	reason, message *text // or nil
}

func (c *compiler) compileCondition(src *syntax.Condition) {
	k := condition{typ: src.Type.Value, when: c.expression(src.When, expr.Bool, "when")}
	if src.Reason != nil {
		k.reason = c.text(src.Reason, "reason")
	}
	if src.Message != nil {
		k.message = c.text(src.Message, "message")
	}
	c.rule.conditions = append(c.rule.conditions, k)
	c.rule.Conditions = append(c.rule.Conditions, k.typ)
}

// compileStatus compiles the rule's status.
func (c *compiler) compileStatus() {
	if c.src.Status == nil {
		return
	}
	b := &builder{c: c, lenient: true}
	b.appendFields(sortedFields(c.src.Status), "status")
	c.rule.status = b.template()
	for _, f := range c.src.Status.Fields {
		c.rule.StatusKeys = append(c.rule.StatusKeys, f.Key.Value)
	}
	slices.Sort(c.rule.StatusKeys)
}
