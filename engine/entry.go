package engine

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// An inventoryEntry is what is remembered of one rule.
type inventoryEntry struct {
	For string `json:"for"` // Kind.group of the primary
	// Source is that of the process that had the rule last (Options.Source).
	Source   string   `json:"source,omitempty"`
	Children []string `json:"children"` // version/Kind or group/version/Kind, sorted
	// Finalizer says that primaries may carry the rule's finalizer, and Former
	// names more kinds of which that is so, from rules of this name before.
	Finalizer bool     `json:"finalizer,omitempty"`
	Former    []string `json:"former,omitempty"`
	// Delete says what the rule said last: what it has made goes when it is
	// removed, apart from the children with the ids in Orphans.
	Delete  bool     `json:"delete,omitempty"`
	Orphans []string `json:"orphans,omitempty"`
	// Account is as which the rule would do that: namespace/name, or /name for the
	// one in the namespace of each primary.
	Account string `json:"account,omitempty"`
	// TakenOver are the installations whose objects of the rule were taken over.
	TakenOver []string `json:"takenOver,omitempty"`
	// Earlier is what rules of this name have made that were for other kinds:
	// For, Source, Children, Delete, Orphans and Account of each.
	Earlier []inventoryEntry `json:"earlier,omitempty"`
}

// merged adds what a rule renders to its entry, and lists what only the entry
// has. What stands there for another primary kind is that of another rule of
// the same name.
func merged(old inventoryEntry, r *rules.Rule) (entry inventoryEntry, gone []schema.GroupVersionKind) {
	entry = inventoryEntry{For: r.GVK.GroupKind().String(), Children: []string{}, Delete: r.DeleteOnRemoval, TakenOver: old.TakenOver}
	if r.DeleteOnRemoval && r.Account != nil {
		entry.Account = r.Account.String()
	}
	rendered := map[schema.GroupKind]bool{}
	for _, c := range r.Children {
		if text := kindText(c.GVK); !slices.Contains(entry.Children, text) {
			entry.Children = append(entry.Children, text)
		}
		rendered[c.GVK.GroupKind()] = true
		if r.DeleteOnRemoval && c.OnDelete == rules.Orphan {
			entry.Orphans = append(entry.Orphans, c.ID)
		}
	}
	entry.keepHolders(old, r)
	before := entry.keepEarlier(old)
	for _, text := range before.Children {
		if gvk := parseKind(text); !rendered[gvk.GroupKind()] {
			gone = append(gone, gvk)
			entry.Children = append(entry.Children, text)
		}
	}
	slices.Sort(entry.Children)
	return entry, gone
}

// keepHolders takes over of which kinds primaries may carry the finalizer.
func (entry *inventoryEntry) keepHolders(old inventoryEntry, r *rules.Rule) {
	holders := slices.Clone(old.Former)
	if old.Finalizer && !slices.Contains(holders, old.For) {
		holders = append(holders, old.For)
	}
	own := func(kind string) bool { return kind == entry.For }
	entry.Finalizer = r.MayNeedFinalizer() || slices.ContainsFunc(holders, own)
	if holders = slices.DeleteFunc(holders, own); len(holders) > 0 {
		entry.Former = holders
	}
}

// keepEarlier takes over what was made for other primary kinds, and returns
// what was made for this one.
func (entry *inventoryEntry) keepEarlier(old inventoryEntry) (before inventoryEntry) {
	last := inventoryEntry{For: old.For, Source: old.Source, Children: old.Children, Delete: old.Delete, Orphans: old.Orphans, Account: old.Account}
	for _, e := range append(slices.Clone(old.Earlier), last) {
		switch {
		case e.For == entry.For:
			before = e
		case len(e.Children) > 0 || e.Delete:
			entry.Earlier = append(entry.Earlier, e)
		}
	}
	return before
}

// empty reports whether nothing is left to be remembered of a rule that is not
// loaded.
func (entry *inventoryEntry) empty() bool {
	return len(entry.Children) == 0 && !entry.Delete && !entry.Finalizer && len(entry.Former) == 0 && len(entry.Earlier) == 0
}

// rule returns what stands for a rule of a name that is not loaded: its name, and
// as whom it writes.
func (entry *inventoryEntry) rule(name string) *rules.Rule {
	r := &rules.Rule{Name: name}
	if namespace, account, ok := strings.Cut(entry.Account, "/"); ok {
		r.Account = &rules.Account{Namespace: namespace, Name: account}
	}
	return r
}

// A removedRule is one that is not loaded any more, or is for another kind now,
// and that said onRuleRemoval: delete.
type removedRule struct {
	name string
	made inventoryEntry // what it has made, of For, Children and Orphans
}

// removedRules lists the removed rules in the inventory.
func removedRules(entries map[string]inventoryEntry, loaded map[string]bool) (removed []removedRule) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[name]
		if entry.Delete && !loaded[name] {
			removed = append(removed, removedRule{name, entry})
		}
		for _, e := range entry.Earlier {
			if e.Delete {
				removed = append(removed, removedRule{name, e})
			}
		}
	}
	return removed
}
