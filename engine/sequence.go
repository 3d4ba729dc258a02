package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// The objects of a child with order: sequential are deleted in reverse, each when the one
// after it is gone. Each carries its index, so that this holds also for objects that
// no rule renders any more, and for a process that has never seen them rendered.

// indexOf returns the index of an object in a sequence, or -1 if it is in none.
func indexOf(o *watch.Object) int {
	if i, err := strconv.Atoi(o.IndexMark()); err == nil && i >= 0 {
		return i
	}
	return -1
}

// due sorts objects, which caches give in any order, and splits them into those whose deletion waits for
// no other one, and the rest. An object that is being deleted is due until it is gone. A stage is due when
// those before it are gone.
func due(all []remaining) (now, later []remaining) {
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b remaining) int {
		return cmp.Or(strings.Compare(a.kind.GVK.String(), b.kind.GVK.String()), strings.Compare(a.object.GetNamespace(), b.object.GetNamespace()),
			strings.Compare(a.object.GetName(), b.object.GetName()))
	})
	first := slices.MinFunc(all, func(a, b remaining) int { return cmp.Compare(a.stage, b.stage) }).stage
	last := map[string]int{} // index of an object in all, by child
	for i, c := range all {
		if indexOf(c.object) < 0 || c.stage != first {
			continue
		}
		if j, found := last[c.object.Child()]; !found || comesLater(c, all[j]) {
			last[c.object.Child()] = i
		}
	}
	for i, c := range all {
		if c.stage == first && (indexOf(c.object) < 0 || last[c.object.Child()] == i) {
			now = append(now, c)
		} else {
			later = append(later, c)
		}
	}
	return now, later
}

// comesLater reports whether a comes after b in their sequence.
func comesLater(a, b remaining) bool {
	return cmp.Or(cmp.Compare(indexOf(a.object), indexOf(b.object)), strings.Compare(a.object.GetName(), b.object.GetName())) > 0
}

// propagation returns how an object of a rule is deleted at the end of its primary or of
// its place in a list. Where the order counts, it is gone only after its own dependents.
func propagation(rule *rules.Rule, o *watch.Object) metav1.DeletionPropagation {
	if rule.Ordered || indexOf(o) >= 0 {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}
