package decide

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/ident"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Remaining is an object that must be deleted before its primary.
type Remaining struct {
	Kind   ident.Kind
	Object *watch.Object
	Stage  int // lower stages are deleted first
}

// StageOf returns the teardown stage of an object. Objects of children that the
// rule no longer has come first. Then dependents come before their dependencies.
// The entries of finalize come last.
func StageOf(rule *rules.Rule, child string) int {
	i := slices.IndexFunc(rule.Children, func(c *rules.Child) bool { return c.ID == child })
	switch {
	case IsEntry(rule, child):
		return len(rule.Children) + 1
	case i < 0 || !rule.Ordered:
		return 0
	}
	return len(rule.Children) - i
}

// PruneStageOf is StageOf for objects that are deleted while the primary stays.
func PruneStageOf(rule *rules.Rule, child string) int {
	if !rule.Ordered {
		return 0
	}
	return StageOf(rule, child)
}

// IsEntry reports whether a child is an entry of finalize.
func IsEntry(rule *rules.Rule, child string) bool {
	return slices.ContainsFunc(rule.Children, func(c *rules.Child) bool { return c.ID == child && c.Timeout > 0 })
}

// OutlivesPrimary reports whether an object stays when its primary is deleted.
func OutlivesPrimary(rule *rules.Rule, o *watch.Object) bool {
	return o.Orphan() || slices.ContainsFunc(rule.Children, func(c *rules.Child) bool {
		return c.OnDelete == rules.Orphan && c.ID == o.Child()
	})
}

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
