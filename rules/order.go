package rules

import (
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// children compiles the children and puts them into the order in which they
// depend on each other.
func (c *compiler) children() {
	n := len(c.src.Children)
	reads := make([]map[string]bool, n) // by the template and by when
	ready := make([]map[string]bool, n) // by readyWhen
	for i, s := range c.src.Children {
		ch := &Child{ID: s.ID.Value, Pos: s.Pos, gone: expr.NewUnknown(s.ID.Value)}
		c.rule.Children = append(c.rule.Children, ch)
		c.prefix = s.Entry + ": "
		reads[i] = c.watched(func() { c.childBody(ch, s) })
		ready[i] = c.watched(func() { c.ready(ch, s) })
		c.prefix = ""
		delete(ready[i], ch.ID) // Its own id is as good as child there.
	}
	c.distinct()
	before := c.dependencies(reads, ready)
	order, cycle := topological(before)
	if cycle != nil {
		ids := make([]string, len(cycle))
		for i, k := range cycle {
			ids[i] = c.src.Children[k].ID.Value
		}
		at := c.src.Children[cycle[0]]
		c.complain(at.ID.Pos, "%s: %s is a cycle: each would wait for the next", at.Entry, strings.Join(ids, " → "))
		return
	}
	c.gates(reads, order)
}

func (c *compiler) childBody(ch *Child, s *syntax.Child) {
	if s.When != nil {
		ch.when = c.expression(s.When, expr.Bool, "when")
	}
	if s.Template == nil {
		return // The parser has said why.
	}
	fields := map[string]*syntax.Node{}
	for _, f := range s.Template.Fields {
		fields[f.Key.Value] = f.Value
	}
	ch.GVK = gvk(literalText(fields["apiVersion"]), literalText(fields["kind"]))
	if s.OnDelete.Value == "orphan" {
		ch.OnDelete = Orphan
	}
	outer := c.prefix
	c.prefix += "template."
	ch.body = c.object(ch, s.Template)
	c.prefix = outer
}

// distinct complains about children that are surely one and the same object.
// Of two that each have a when, only one may exist at a time.
func (c *compiler) distinct() {
	for i, s := range c.src.Children {
		for j, other := range c.src.Children[:i] {
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
	if !known || !otherKnown || name != otherName || ch.GVK.GroupKind() != other.GVK.GroupKind() {
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
func literalText(n *syntax.Node) string {
	if n == nil {
		return ""
	}
	s, _ := n.Value.(string)
	return s
}

// ready compiles readyWhen, in whose scope the child is called child as well.
func (c *compiler) ready(ch *Child, s *syntax.Child) {
	if s.ReadyWhen == nil {
		return
	}
	scope, err := expr.NewScope(append([]string{child}, c.declared...)...)
	if err != nil {
		c.complain(s.ReadyWhen.Pos, "readyWhen: %v", err)
		return
	}
	c.shapes[child] = expr.Live(child)
	ch.readyWhen = c.compileIn(scope, s.ReadyWhen, expr.Bool, "readyWhen")
	delete(c.shapes, child)
}

// dependencies returns, for each child, those that come before it.
func (c *compiler) dependencies(reads, ready []map[string]bool) [][]int {
	before := make([][]int, len(reads))
	for i, s := range c.src.Children {
		for j, other := range c.src.Children {
			id := other.ID.Value
			if reads[i][id] || ready[i][id] || c.after(s, id) {
				before[i] = append(before[i], j)
			}
		}
	}
	return before
}

func (c *compiler) after(s *syntax.Child, id string) bool {
	return slices.ContainsFunc(s.After, func(a syntax.String) bool { return a.Value == id })
}

// gates sorts the children and notes whose readiness each of them waits for.
func (c *compiler) gates(reads []map[string]bool, order []int) {
	sorted := make([]*Child, len(order))
	place := make([]int, len(order))
	for at, i := range order {
		sorted[at] = c.rule.Children[i]
		place[i] = at
		c.rule.vars[c.src.Children[i].ID.Value] = variable{childVariable, at}
	}
	for i, s := range c.src.Children {
		for j, other := range c.src.Children {
			id := other.ID.Value
			if c.after(s, id) || reads[i][id] && other.ReadyWhen != nil {
				c.rule.Children[i].gates = append(c.rule.Children[i].gates, place[j])
			}
		}
	}
	c.rule.Children = sorted
}

// topological returns an order in which everything comes after what is before
// it, and otherwise in the order given. If there is none, it returns a cycle
// that begins and ends with the same index.
func topological(before [][]int) (order, cycle []int) {
	done := make([]bool, len(before))
	for len(order) < len(before) {
		next := -1
		for i := range before {
			if !done[i] && !slices.ContainsFunc(before[i], func(j int) bool { return !done[j] }) {
				next = i
				break
			}
		}
		if next < 0 {
			return nil, findCycle(before, done)
		}
		done[next] = true
		order = append(order, next)
	}
	return order, nil
}

// findCycle follows what is not done back until it meets itself, and begins
// the cycle with its first member in the order given.
func findCycle(before [][]int, done []bool) []int {
	at := slices.Index(done, false)
	var path []int
	for !slices.Contains(path, at) {
		path = append(path, at)
		i := slices.IndexFunc(before[at], func(j int) bool { return !done[j] })
		at = before[at][i]
	}
	path = path[slices.Index(path, at):]
	first := slices.Index(path, slices.Min(path))
	path = append(path[first:], path[:first]...)
	return append(path, path[0])
}
