package rules

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// topologicalOrder sorts indexes by their dependencies, and otherwise keeps their order.
// If there is a cycle, it returns the cycle, which begins and ends with the same
// index.
func topologicalOrder(before [][]int) (order, cycle []int) {
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

// orderChildren sorts the children by what each of them waits for. After a cycle, it
// records an error for each one and returns nil.
func (c *compiler) orderChildren(waits []childReads) []int {
	entries := c.entries()
	before := make([][]int, len(entries))
	for i := range entries {
		for j, other := range entries {
			if _, depends := waits[i][other.ID.Value]; depends {
				before[i] = append(before[i], j)
			}
		}
	}
	order, cycle := topologicalOrder(before)
	for ; cycle != nil; _, cycle = topologicalOrder(before) {
		var ids, edges []string
		for i, k := range cycle {
			ids = append(ids, entries[k].ID.Value)
			if i > 0 {
				edges = append(edges, fmt.Sprintf("%s waits for %s at %s", ids[i-1], ids[i], waits[cycle[i-1]][ids[i]]))
			}
		}
		at := entries[cycle[0]]
		c.complain(at.ID.Pos, "%s: %s is a cycle: each would wait for the next", at.Entry, strings.Join(ids, " → ")).Hint = strings.Join(edges, ", ")
		for _, k := range cycle {
			before[k] = nil
		}
	}
	return order
}

// setGates sorts the children and records which children each one waits for to be
// ready. Entries of finalize do not wait for children, which may never become
// ready.
func (c *compiler) setGates(reads []childReads, order []int) {
	entries := c.entries()
	sorted := make([]*Child, len(order))
	position := make([]int, len(order))
	for at, i := range order {
		sorted[at] = c.rule.Children[i]
		position[i] = at
		c.rule.vars[entries[i].ID.Value] = variable{childVariable, at}
		c.rule.existing[expr.Existing(entries[i].ID.Value)] = at
	}
	for i, s := range entries {
		ch := c.rule.Children[i]
		for j, other := range entries {
			if ch.Timeout > 0 && c.rule.Children[j].Timeout == 0 || i == j {
				continue
			}
			after := slices.ContainsFunc(s.After, func(a source.String) bool { return a.Value == other.ID.Value })
			if _, read := reads[i][other.ID.Value]; after || read && other.ReadyWhen != nil {
				ch.gates = append(ch.gates, position[j])
			}
		}
	}
	c.rule.Children = sorted
}

// checkEarlyReads records an error for children that read entries of finalize.
func (c *compiler) checkEarlyReads(reads []childReads) {
	for i, s := range c.src.Children {
		for _, f := range c.src.Finalize {
			if _, waits := reads[i][f.ID.Value]; waits {
				c.complain(s.Pos, "%s: %q is created when the resource is deleted, so a child cannot wait for it", s.Entry, f.ID.Value)
			}
		}
	}
}

// checkDistinct records an error for children that are always the same object. Two
// children that both have a when may exclude each other.
func (c *compiler) checkDistinct() {
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
	if !known || !otherKnown || name != otherName || ch.HasReplicas() || other.HasReplicas() || ch.GVK.GroupKind() != other.GVK.GroupKind() {
		return false
	}
	if ch.namespace == nil || other.namespace == nil {
		return ch.namespace == other.namespace
	}
	namespace, known := ch.namespace.literal()
	otherNamespace, otherKnown := other.namespace.literal()
	return known && otherKnown && namespace == otherNamespace
}
