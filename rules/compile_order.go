package rules

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// topological sorts indexes by their dependencies, and otherwise keeps their order.
// If there is a cycle, it returns the cycle, which begins and ends with the same
// index.
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

// findCycle follows unsorted dependencies until one repeats. The cycle begins with
// its lowest index.
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

// cycles records an error for each cycle among the children.
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

// waitsAt returns the position at which an entry waits for another one: in after,
// or in an expression that reads it, directly or through a let.
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

// dependencies returns the children that come before each child.
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

// gates sorts the children and records which children each one waits for to be
// ready. Entries of finalize do not wait for children, which may never become
// ready.
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

// early records an error for children that read entries of finalize.
func (c *compiler) early(reads []map[string]bool) {
	for i, s := range c.src.Children {
		for _, f := range c.src.Finalize {
			if reads[i][f.ID.Value] {
				c.complain(s.Pos, "%s: %q is created when the resource is deleted, so a child cannot wait for it", s.Entry, f.ID.Value)
			}
		}
	}
}

// distinct records an error for children that are always the same object. Two
// children that both have a when may exclude each other.
func (c *compiler) distinct() {
	entries := c.entries()
	for i, s := range entries {
		for j, other := range entries[:i] {
			if (s.When == nil || other.When == nil) && c.rule.Children[i].sameObject(c.rule.Children[j]) {
				c.complain(c.rule.Children[i].name.pos, "%s: template.metadata.name: %s has the same kind, namespace and name, at %s",
					s.Entry, other.Entry, c.rule.Children[j].name.pos)
				break
			}
		}
	}
}

// sameObject reports whether two children with literal names are the same object.
func (ch *Child) sameObject(other *Child) bool {
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
