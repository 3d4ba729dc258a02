package rules

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
)

// topologicalOrder sorts indexes by their dependencies, and otherwise keeps their order.
// If there is a cycle, it returns the cycle, which begins and ends with the same
// index.
func topologicalOrder(before [][]int) (order, cycle []int) {
	waiting := make([]int, len(before)) // how many dependencies are not done
	after := make([][]int, len(before))
	free := &indexHeap{}
	for i, list := range before {
		waiting[i] = len(list)
		for _, j := range list {
			after[j] = append(after[j], i)
		}
		if len(list) == 0 {
			heap.Push(free, i)
		}
	}
	done := make([]bool, len(before))
	for free.Len() > 0 {
		next := heap.Pop(free).(int)
		done[next] = true
		order = append(order, next)
		for _, i := range after[next] {
			if waiting[i]--; waiting[i] == 0 {
				heap.Push(free, i)
			}
		}
	}
	if len(order) < len(before) {
		return nil, findCycle(before, done)
	}
	return order, nil
}

// An indexHeap gives the lowest index first.
type indexHeap struct{ sort.IntSlice }

func (h *indexHeap) Push(i any) { h.IntSlice = append(h.IntSlice, i.(int)) }

func (h *indexHeap) Pop() any {
	last := len(h.IntSlice) - 1
	i := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return i
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

// maxCycles is the maximum number of cycles to report: each is a search of its own.
const maxCycles = 20

// orderChildren sorts the children by what each of them waits for. After a cycle, it
// records an error for each one and returns nil.
func (c *childCompiler) orderChildren(waits []childReads) []int {
	entries := c.expressions.entries()
	indexes := c.expressions.indexes()
	before := make([][]int, len(entries))
	for i := range entries {
		for id := range waits[i] {
			if j, known := indexes[id]; known {
				before[i] = append(before[i], j)
			}
		}
		slices.Sort(before[i])
	}
	order, cycle := topologicalOrder(before)
	for n := 0; cycle != nil && n < maxCycles; n++ {
		var ids, edges []string
		for i, k := range cycle {
			ids = append(ids, entries[k].ID.Value)
			if i > 0 {
				edges = append(edges, fmt.Sprintf("%s waits for %s at %s", ids[i-1], ids[i], waits[cycle[i-1]][ids[i]]))
			}
		}
		at := entries[cycle[0]]
		c.expressions.complain(at.ID.Pos, "%s: %s is a cycle: each would wait for the next", at.Entry,
			strings.Join(ids, " → ")).Hint = strings.Join(edges, ", ")
		for _, k := range cycle {
			before[k] = nil
		}
		_, cycle = topologicalOrder(before)
	}
	return order
}

// indexes returns the index of each entry by its id: of the first one, if an id is used
// twice.
func (c *expressions) indexes() map[string]int {
	out := map[string]int{}
	for i, s := range slices.Backward(c.entries()) {
		out[s.ID.Value] = i
	}
	return out
}

// setGates sorts the children and records which children each one waits for to be
// ready. Entries of finalize do not wait for children, which may never become
// ready.
func (c *childCompiler) setGates(reads []childReads, order []int) {
	entries := c.expressions.entries()
	sorted := make([]*Child, len(order))
	position := make([]int, len(order))
	for at, i := range order {
		sorted[at] = c.rule.Children[i]
		position[i] = at
		c.rule.vars[entries[i].ID.Value] = variable{childVariable, at}
		c.rule.vars[expr.Previous.Variable(entries[i].ID.Value)] = variable{previousVariable, at}
		for _, f := range []expr.IDFunction{expr.Existing, expr.ByKey, expr.Exists, expr.Included} {
			c.rule.idCalls[f.Variable(entries[i].ID.Value)] = idCall{f, variable{childVariable, at}}
		}
	}
	indexes := c.expressions.indexes()
	for i, s := range entries {
		ch := c.rule.Children[i]
		gates := map[int]bool{} // by index
		for id := range reads[i] {
			if j, known := indexes[id]; known && entries[j].ReadyWhen != nil {
				gates[j] = true
			}
		}
		for _, a := range s.After {
			if j, known := indexes[a.Value]; known {
				gates[j] = true
			}
		}
		for _, j := range slices.Sorted(maps.Keys(gates)) {
			if i != j && (ch.Timeout == 0 || c.rule.Children[j].Timeout > 0) {
				ch.gates = append(ch.gates, position[j])
			}
		}
	}
	c.rule.Children = sorted
}

// checkEarlyReads records an error for children that read entries of finalize.
func (c *childCompiler) checkEarlyReads(reads []childReads) {
	early := map[string]bool{}
	for _, f := range c.src.Finalize {
		early[f.ID.Value] = true
	}
	for i, s := range c.src.Children {
		for _, id := range slices.Sorted(maps.Keys(reads[i])) {
			if early[id] {
				c.expressions.complain(s.Pos, "%s: %q is created when the resource is deleted, so a child cannot wait for it",
					s.Entry, id)
			}
		}
	}
}

// An objectIdentity is the identity of a child whose name is literal.
type objectIdentity struct {
	gk              schema.GroupKind
	namespace, name string
}

// checkDistinct records an error for children that are always the same object. Two
// children that both have a when may exclude each other.
func (c *childCompiler) checkDistinct() {
	entries := c.expressions.entries()
	first := map[objectIdentity]int{}  // of the children with an identity
	always := map[objectIdentity]int{} // of those without a when
	for i, s := range entries {
		own, known := c.rule.Children[i].literalIdentity()
		if !known {
			continue
		}
		j, same := always[own]
		if s.When == nil {
			j, same = first[own]
		}
		if same {
			c.expressions.complain(c.rule.Children[i].name.pos,
				"%s: template.metadata.name: %s has the same kind, namespace and name, at %s",
				s.Entry, entries[j].Entry, c.rule.Children[j].name.pos)
		}
		if _, known := first[own]; !known {
			first[own] = i
		}
		if _, known := always[own]; !known && s.When == nil {
			always[own] = i
		}
	}
}

// literalIdentity returns the identity of a child, and whether its name and namespace are
// literal.
func (ch *Child) literalIdentity() (objectIdentity, bool) {
	name, known := ch.name.literal()
	own := objectIdentity{gk: ch.GVK.GroupKind(), name: name}
	if !known || ch.HasReplicas() {
		return own, false
	}
	if ch.namespace == nil {
		return own, true
	}
	own.namespace, known = ch.namespace.literal()
	return own, known
}
