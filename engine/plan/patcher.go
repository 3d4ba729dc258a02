package plan

import (
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Patcher is who patches primaries: a rule, or reconcel itself.
type Patcher struct {
	Rule    *rules.Rule // has only a name or nothing, if it is not a loaded rule
	Manager string
}

// PatcherOf returns the patcher of a rule's patch.
func PatcherOf(rule *rules.Rule) Patcher { return Patcher{rule, managedfields.PatchManager(rule.Name)} }

// Owned returns the managedFields entry of the patch on a primary.
func (by Patcher) Owned(o *watch.Object) managedfields.Entry { return o.PatchFields(by.Manager) }

// HasPatched reports whether a primary has fields of the patch.
func (by Patcher) HasPatched(o *watch.Object) bool { return by.Owned(o) != (managedfields.Entry{}) }
