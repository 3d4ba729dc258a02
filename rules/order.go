package rules

import (
	"slices"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// children compiles the children and puts them into the order in which they
// depend on each other.
func (c *compiler) children() {
	entries := c.entries()
	reads := make([]map[string]bool, len(entries)) // by the template, when and the like
	ready := make([]map[string]bool, len(entries)) // by readyWhen and failWhen
	for i, s := range entries {
		ch := &Child{ID: s.ID.Value, Rule: c.rule, Pos: s.Pos, Timeout: s.Timeout.Value, gone: expr.NewUnknown(s.ID.Value)}
		c.rule.Children = append(c.rule.Children, ch)
		c.prefix = s.Entry + ": "
		reads[i] = c.watched(func() {
			c.childBody(ch, s, c.childHead(ch, s))
		})
		ready[i] = c.watched(func() { c.judged(ch, s) })
		c.prefix = ""
		delete(ready[i], ch.ID) // Its own id is as good as child there.
		for name := range ch.locals {
			delete(c.shapes, name)
			delete(reads[i], name)
			delete(ready[i], name)
		}
	}
	c.distinct()
	c.early(reads)
	before := c.dependencies(reads, ready)
	order, cycle := topological(before)
	if cycle != nil {
		c.cycles(before, cycle)
		return
	}
	c.gates(reads, order)
}

// childHead compiles what says which objects of a child there should be, and
// returns the names of its iterators.
func (c *compiler) childHead(ch *Child, s *syntax.Child) []string {
	if s.When != nil {
		ch.when = c.expression(s.When, expr.Bool, "when")
	}
	if s.Replicas != nil {
		ch.replicas = c.expression(s.Replicas, expr.Int, "replicas")
	}
	if s.MaxUnavailable != nil {
		ch.unavailable = c.expression(s.MaxUnavailable, expr.Int, "maxUnavailable")
	}
	return c.iterators(ch, s)
}

func (c *compiler) childBody(ch *Child, s *syntax.Child, names []string) {
	if s.Template == nil {
		return // The parser has said why.
	}
	c.manner(ch, s)
	fields := map[string]*source.Node{}
	for _, f := range s.Template.Fields {
		fields[f.Key.Value] = f.Value
	}
	ch.GVK = gvk(literalText(fields["apiVersion"]), literalText(fields["kind"]))
	ch.allowed = slices.Contains(c.rule.allow.clusterScoped, ch.GVK.GroupKind())
	outerScope, outerPrefix := c.scope, c.prefix
	c.scope = c.with(s.Template.Pos, names)
	conditions := c.ignoredWhen(s.IgnoreFields)
	c.prefix += "template."
	ch.body = c.object(ch, s.Template, s.IgnoreFields, conditions)
	c.naming(ch, fields["metadata"])
	c.scope, c.prefix = outerScope, outerPrefix
	c.identifying(ch, s)
}

// naming checks the name and namespace of a child as far as they are literal.
func (c *compiler) naming(ch *Child, metadata *source.Node) {
	if metadata == nil {
		return
	}
	for _, f := range metadata.Fields {
		switch f.Key.Value {
		case "name":
			c.objectName(f.Value, ch.GVK.GroupKind(), "metadata.name")
		case "generateName":
			c.nameStart(f.Value, ch.GVK.GroupKind(), "metadata.generateName")
		case "namespace":
			c.namespaceName(f.Value, "metadata.namespace")
		}
	}
}

// manner sets how a child is treated.
func (c *compiler) manner(ch *Child, s *syntax.Child) {
	if s.OnDelete.Value == "orphan" {
		ch.OnDelete = Orphan
	}
	switch s.OnChange.Value {
	case "replace":
		ch.OnChange = Replace
		if ch.OnDelete == Orphan {
			c.complain(s.OnChange.Pos, "onChange: replace deletes what onDelete: orphan never deletes").Hint = "keep one of them"
		}
	case "keep":
		ch.OnChange = Keep
	}
	ch.Adopt = s.IfExists.Value == "adopt"
	ch.tracked = ch.OnDelete == Orphan || c.rule.finalizes || c.rule.Ordered
}

// identifying checks what the name and namespace of a child are made of.
func (c *compiler) identifying(ch *Child, s *syntax.Child) {
	mentioned := map[string]bool{}
	for _, t := range []*text{ch.name, ch.namespace} {
		if t == nil {
			continue
		}
		for _, p := range t.parts {
			if p.prog == nil {
				continue
			}
			for _, name := range p.prog.Reads() {
				mentioned[name] = true
			}
			if trail, ok := p.prog.Volatile(); ok {
				e := c.complain(p.prog.Pos(), "template.%s: %s changes by itself, and with it the name would", t.where, trail)
				e.Hint = "build names from what people write, such as metadata.name"
			}
		}
	}
	c.listed(s, mentioned)
}

// early complains about children that read what only the end of their primary
// makes.
func (c *compiler) early(reads []map[string]bool) {
	for i, s := range c.src.Children {
		for _, f := range c.src.Finalize {
			if reads[i][f.ID.Value] {
				c.complain(s.Pos, "%s: %q is made when the resource is deleted, a child cannot wait for it", s.Entry, f.ID.Value)
			}
		}
	}
}

// distinct complains about children that are surely one and the same object.
// Of two that each have a when, only one may exist at a time.
func (c *compiler) distinct() {
	entries := c.entries()
	for i, s := range entries {
		for j, other := range entries[:i] {
			if (s.When == nil || other.When == nil) && c.rule.Children[i].same(c.rule.Children[j]) {
				c.complain(c.rule.Children[i].name.pos, "%s: template.metadata.name: %s has the same kind, namespace and name, at %s",
					s.Entry, other.Entry, c.rule.Children[j].name.pos)
				break
			}
		}
	}
}

// same reports whether two children with literal names are one object.
func (ch *Child) same(other *Child) bool {
	name, known := ch.name.literal()
	otherName, otherKnown := other.name.literal()
	if !known || !otherKnown || name != otherName || ch.Interchangeable() || other.Interchangeable() || ch.GVK.GroupKind() != other.GVK.GroupKind() {
		return false
	}
	if ch.namespace == nil || other.namespace == nil {
		return ch.namespace == other.namespace
	}
	namespace, known := ch.namespace.literal()
	otherNamespace, otherKnown := other.namespace.literal()
	return known && otherKnown && namespace == otherNamespace
}

// literalText returns the text that a node is, or "".
func literalText(n *source.Node) string {
	if n == nil {
		return ""
	}
	s, _ := n.Value.(string)
	return s
}

// judged compiles readyWhen and failWhen, in whose scope the child is called
// child as well.
func (c *compiler) judged(ch *Child, s *syntax.Child) {
	names := []string{child}
	for _, it := range s.ForEach {
		if !it.Unfit {
			names = append(names, it.Name.Value)
		}
		if it.Index.Value != "" && !it.Unfit {
			names = append(names, it.Index.Value)
		}
	}
	c.shapes[child] = expr.Live(child)
	if s.ReadyWhen != nil {
		ch.readyWhen = c.compileIn(c.with(s.Pos, names), s.ReadyWhen, expr.Bool, "readyWhen")
	}
	if s.FailWhen != nil {
		ch.failWhen = c.compileIn(c.with(s.Pos, names), s.FailWhen, expr.Bool, "failWhen")
	}
	delete(c.shapes, child)
}

// dependencies returns, for each child, those that come before it.
func (c *compiler) dependencies(reads, ready []map[string]bool) [][]int {
	before := make([][]int, len(reads))
	entries := c.entries()
	for i, s := range entries {
		for j, other := range entries {
			id := other.ID.Value
			if reads[i][id] || ready[i][id] || c.after(s, id) {
				before[i] = append(before[i], j)
			}
		}
	}
	return before
}

func (c *compiler) after(s *syntax.Child, id string) bool {
	return slices.ContainsFunc(s.After, func(a source.String) bool { return a.Value == id })
}

// gates sorts the children and notes whose readiness each of them waits for. What is made at the end of a primary waits for
// nothing that was made before: that may never get ready.
func (c *compiler) gates(reads []map[string]bool, order []int) {
	entries := c.entries()
	sorted := make([]*Child, len(order))
	place := make([]int, len(order))
	for at, i := range order {
		sorted[at] = c.rule.Children[i]
		place[i] = at
		c.rule.vars[entries[i].ID.Value] = variable{childVariable, at}
		c.rule.existing[expr.Existing(entries[i].ID.Value)] = at
	}
	for i, s := range entries {
		ch := c.rule.Children[i]
		for j, other := range entries {
			id := other.ID.Value
			if ch.Timeout > 0 && c.rule.Children[j].Timeout == 0 || i == j {
				continue
			}
			if c.after(s, id) || reads[i][id] && other.ReadyWhen != nil {
				ch.gates = append(ch.gates, place[j])
			}
		}
	}
	c.rule.Children = sorted
}
