package decide

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

// IndexOf returns the index of an object in a sequence, or -1 if it is in none.
func IndexOf(o *watch.Object) int {
	if i, err := strconv.Atoi(o.IndexMark()); err == nil && i >= 0 {
		return i
	}
	return -1
}

// Due sorts objects, which caches give in any order, and splits them into those whose deletion waits for
// no other one, and the rest. An object that is being deleted is due until it is gone. A stage is due when
// those before it are gone.
func Due(all []Remaining) (now, later []Remaining) {
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b Remaining) int {
		return cmp.Or(strings.Compare(a.Kind.GVK.String(), b.Kind.GVK.String()),
			strings.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()),
			strings.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	first := slices.MinFunc(all, func(a, b Remaining) int { return cmp.Compare(a.Stage, b.Stage) }).Stage
	last := map[string]int{} // index of an object in all, by child
	for i, c := range all {
		if IndexOf(c.Object) < 0 || c.Stage != first {
			continue
		}
		if j, found := last[c.Object.Child()]; !found || comesLater(c, all[j]) {
			last[c.Object.Child()] = i
		}
	}
	for i, c := range all {
		if c.Stage == first && (IndexOf(c.Object) < 0 || last[c.Object.Child()] == i) {
			now = append(now, c)
		} else {
			later = append(later, c)
		}
	}
	return now, later
}

// comesLater reports whether a comes after b in their sequence.
func comesLater(a, b Remaining) bool {
	return cmp.Or(cmp.Compare(IndexOf(a.Object), IndexOf(b.Object)),
		strings.Compare(a.Object.GetName(), b.Object.GetName())) > 0
}

// Propagation returns how an object of a rule is deleted at the end of its primary or of
// its place in a list. Where the order counts, it is gone only after its own dependents.
func Propagation(rule *rules.Rule, o *watch.Object) metav1.DeletionPropagation {
	if rule.Ordered || IndexOf(o) >= 0 {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}
