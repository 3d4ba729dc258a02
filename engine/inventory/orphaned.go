package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// Orphaned is what is in an inventory and not in the loaded rules.
type Orphaned struct {
	// Kinds are kinds that a loaded rule, by name, has rendered and renders no more.
	Kinds      map[string][]schema.GroupVersionKind
	Finalizers []Finalizer
	Removed    []RemovedRule
	Kept       []KeptRule
	// TakenOver lists the installations whose objects were taken over, by rule.
	TakenOver map[string][]string
}

// A Finalizer is that of a rule that is not loaded, or is for another kind now. It stands
// for all marks that the rule may have left on its primaries.
type Finalizer struct {
	Rule string
	Kind string // Kind.group of the primaries
}

// Primary returns the kind of the primaries.
func (f Finalizer) Primary() schema.GroupKind { return schema.ParseGroupKind(f.Kind) }

// A RemovedRule is not loaded, or is for another kind now, and had
// onRuleRemoval: delete. Its objects are deleted.
type RemovedRule struct {
	Name string
	Entry
}

// A KeptRule is not loaded, and another source had it last. It cannot have been
// removed from the source of this process, so that its objects and finalizers stay.
type KeptRule struct {
	Name   string
	Kind   string // Kind.group of the primaries
	Source string
}

// merge adds what a program renders to the entries, and returns what only they
// have.
func (inv *Inventory) merge(entries map[string]Entry, program *rules.Program, check Check) Orphaned {
	found := Orphaned{Kinds: map[string][]schema.GroupVersionKind{}, TakenOver: map[string][]string{}}
	loaded := map[string]bool{}
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			loaded[r.Name] = true
			if check.Refuses != nil && check.Refuses(r) {
				continue
			}
			entry, kinds := merged(entries[r.Name], r)
			entry.Source = inv.options.Source
			if others := check.TakenOver[r.Name]; len(others) > 0 {
				entry.TakenOver = others
			}
			if len(entry.TakenOver) > 0 {
				found.TakenOver[r.Name] = entry.TakenOver
			}
			entries[r.Name] = entry
			if len(kinds) > 0 {
				found.Kinds[r.Name] = kinds
			}
		}
	}
	found.Finalizers = orphanedFinalizers(entries, loaded)
	found.Removed = removedRules(entries, loaded)
	inv.keepUnconfirmed(&found, entries)
	return found
}

// orphanedFinalizers returns the finalizers of rules that are not loaded or are for
// another kind now.
func orphanedFinalizers(entries map[string]Entry, loaded map[string]bool) (all []Finalizer) {
	for _, rule := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[rule]
		if entry.Finalizer && !loaded[rule] {
			all = append(all, Finalizer{rule, entry.For})
		}
		for _, kind := range entry.Former {
			all = append(all, Finalizer{rule, kind})
		}
	}
	return all
}

func removedRules(entries map[string]Entry, loaded map[string]bool) (removed []RemovedRule) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[name]
		if entry.Delete && !loaded[name] {
			removed = append(removed, RemovedRule{name, entry})
		}
		for _, e := range entry.Earlier {
			if e.Delete {
				removed = append(removed, RemovedRule{name, e})
			}
		}
	}
	return removed
}

// keepUnconfirmed moves rules of another source to Kept unless their removal is
// confirmed.
func (inv *Inventory) keepUnconfirmed(found *Orphaned, entries map[string]Entry) {
	keep := func(rule, kind, source string) bool {
		if source == inv.options.Source || slices.Contains(inv.options.ConfirmRemoval, rule) {
			return false
		}
		if k := (KeptRule{rule, kind, source}); !slices.Contains(found.Kept, k) {
			found.Kept = append(found.Kept, k)
		}
		return true
	}
	found.Removed = slices.DeleteFunc(found.Removed, func(r RemovedRule) bool { return keep(r.Name, r.For, r.Source) })
	found.Finalizers = slices.DeleteFunc(found.Finalizers, func(f Finalizer) bool {
		entry := entries[f.Rule]
		source := entry.Source
		for _, e := range entry.Earlier {
			if e.For == f.Kind {
				source = e.Source
			}
		}
		return keep(f.Rule, f.Kind, source)
	})
	slices.SortFunc(found.Kept, func(a, b KeptRule) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind)) })
}

// Recall returns what is in any of several inventories and not in a program.
func Recall(inventories []Stored, program *rules.Program) (Orphaned, error) {
	all := Orphaned{Kinds: map[string][]schema.GroupVersionKind{}}
	var damaged []error
	for _, stored := range inventories {
		entries, err := stored.Entries()
		if err != nil {
			damaged = append(damaged, fmt.Errorf("inventory: %w", err))
			continue
		}
		found := (&Inventory{}).merge(entries, program, Check{})
		for rule, kinds := range found.Kinds {
			all.Kinds[rule] = append(all.Kinds[rule], kinds...)
		}
		all.Removed, all.Kept = append(all.Removed, found.Removed...), append(all.Kept, found.Kept...)
	}
	return all, errors.Join(damaged...)
}
