package rules

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

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

// cycles complains about the cycles among the children, each child once.
func (c *compiler) cycles(before [][]int, cycle []int) {
	entries := c.entries()
	for cycle != nil {
		ids := make([]string, len(cycle))
		var waits []string
		for i, k := range cycle {
			ids[i] = entries[k].ID.Value
			if i > 0 {
				waits = append(waits, fmt.Sprintf("%s waits for %s at %s", ids[i-1], ids[i], c.waitsAt(entries[cycle[i-1]], ids[i])))
			}
		}
		at := entries[cycle[0]]
		c.complain(at.ID.Pos, "%s: %s is a cycle: each would wait for the next", at.Entry, strings.Join(ids, " → ")).Hint = strings.Join(waits, ", ")
		for _, k := range cycle {
			before[k] = nil
		}
		_, cycle = topological(before)
	}
}

// waitsAt returns where an entry says that it comes after another one, or reads
// it, be it through a let.
func (c *compiler) waitsAt(s *syntax.Child, id string) source.Pos {
	for _, a := range s.After {
		if a.Value == id {
			return a.Pos
		}
	}
	names := []string{child}
	all := []*source.Expr{s.When, s.Replicas, s.MaxUnavailable}
	for _, it := range s.ForEach {
		all = append(all, it.In)
		names = append(names, it.Name.Value)
		if it.Index.Value != "" {
			names = append(names, it.Index.Value)
		}
	}
	all = append(append(all, s.Template.Expressions()...), s.ReadyWhen, s.FailWhen)
	for _, p := range s.IgnoreFields {
		all = append(all, p.When)
	}
	scope := c.with(s.Pos, names)
	for _, e := range all {
		if e == nil {
			continue
		}
		if checked, _ := scope.Check(e, expr.Any); checked != nil && slices.ContainsFunc(checked.Reads(), func(name string) bool {
			return name == id || c.lets[name] != nil && c.lets[name].reads[id] || c.looks[name] != nil && c.looks[name].reads[id]
		}) {
			return e.Pos
		}
	}
	return s.Pos
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

// early complains about children that read what only the end of their primary
// makes.
func (c *compiler) early(reads []map[string]bool) {
	for i, s := range c.src.Children {
		for _, f := range c.src.Finalize {
			if reads[i][f.ID.Value] {
				c.complain(s.Pos, "%s: %q is created when the resource is deleted, so a child cannot wait for it", s.Entry, f.ID.Value)
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
