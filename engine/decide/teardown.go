package decide

import (
	"slices"

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
