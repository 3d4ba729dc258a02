package inventory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// Orphaned is what is in an inventory and not in the loaded rules.
type Orphaned struct {
	// Kinds are kinds that a loaded rule has rendered and renders no more.
	Kinds map[Key][]schema.GroupVersionKind
	// Written has the loaded rules that wrote other fields than the status into primaries, now or in an earlier version.
	Written    map[Key]bool
	Finalizers []Finalizer
	Removed    []RemovedRule
	Kept       []KeptRule
	// TakenOver lists the installations whose objects were taken over, by rule.
	TakenOver map[string][]string
	// Ended are rules that run now and are not in the program. Only Succeed sets it.
	Ended []RemovedRule
}

// A Finalizer is that of a rule that is not loaded, or is for another kind now. It stands
// for all marks that the rule may have left on its primaries.
type Finalizer struct {
	Rule string
	Kind string // Kind.group of the primaries
}

// Primary returns the kind of the primaries.
func (f Finalizer) Primary() schema.GroupKind { return schema.ParseGroupKind(f.Kind) }

func (f Finalizer) key() Key { return Key(f) }

// A RemovedRule is not loaded, or is for another kind now, and had
// onRuleRemoval: delete. Its objects are deleted.
type RemovedRule struct {
	Name string
	Entry
}

func (r RemovedRule) key() Key { return Key{r.Name, r.For} }

// A KeptRule is not loaded, and another source had it last. It cannot have been
// removed from the source of this process, so that its objects and finalizers stay.
type KeptRule struct {
	Name   string
	Kind   string // Kind.group of the primaries
	Source string
}

// merge adds what a program renders to the entries, and returns what only they
// have. Of a program that is incomplete, it is not known which rules are removed: their entries stay as they are.
func (inv *Inventory) merge(entries map[Key]Entry, program *rules.Program, check Check) Orphaned {
	found := Orphaned{Kinds: map[Key][]schema.GroupVersionKind{}, Written: map[Key]bool{},
		TakenOver: map[string][]string{}}
	loaded, names := map[Key]bool{}, map[string]bool{}
	revision := sync.OnceValue(func() string { return revisionOf(program.Sources()) })
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			key := KeyOf(r)
			loaded[key], names[r.Name] = true, true
			if check.Refuses != nil && check.Refuses(r) {
				continue
			}
			old := entries[key]
			entry, kinds := merged(old, r)
			entry.Source, entry.Digest, entry.Revision = inv.options.Source, digestOf(r), old.Revision
			if entry.Digest != old.Digest || entry.Revision == "" {
				entry.Revision = revision()
			}
			if others := check.TakenOver[r.Name]; len(others) > 0 {
				entry.TakenOver = others
			}
			if len(entry.TakenOver) > 0 {
				found.TakenOver[r.Name] = union(found.TakenOver[r.Name], entry.TakenOver)
			}
			entries[key], found.Written[key] = entry, entry.Finalizer || entry.Patch
			if len(kinds) > 0 {
				found.Kinds[key] = kinds
			}
		}
	}
	if program.Incomplete() {
		return found
	}
	for key, entry := range entries {
		if _, held := check.Held[key]; held || loaded[key] {
			continue
		}
		entry.Digest, entry.Revision = "", ""
		entries[key] = entry
		if entry.Moved = names[key.Rule]; entry.Moved {
			put(entries, key, entry)
		}
	}
	found.Finalizers = orphanedFinalizers(entries, loaded)
	found.Removed = removedRules(entries, loaded)
	inv.keepUnconfirmed(&found, entries)
	return found
}

// Left is what entries have made and programs do not render.
type Left struct {
	Kinds   map[schema.GroupKind]bool // of objects that may have to be removed, and of primaries that may have marks
	Bundles []string                  // rules for the cluster whose ConfigMap may have to be removed
}

// Left returns what may be left of the entries, besides what the programs render.
func (inv *Inventory) Left(ctx context.Context, programs []*rules.Program) (Left, error) {
	entries, _, err := inv.Entries(ctx)
	if err != nil {
		return Left{}, err
	}
	rendered, incomplete := map[Key]map[schema.GroupKind]bool{}, false
	for _, program := range programs {
		incomplete = incomplete || program.Incomplete()
		for _, p := range program.Primaries() {
			for _, r := range p.Rules {
				key := KeyOf(r)
				if rendered[key] == nil {
					rendered[key] = map[schema.GroupKind]bool{}
				}
				for _, gvk := range r.ChildKinds() {
					rendered[key][gvk.GroupKind()] = true
				}
			}
		}
	}
	left := Left{Kinds: map[schema.GroupKind]bool{}}
	for key, entry := range entries {
		loaded := rendered[key] != nil
		switch marked := !loaded && (entry.Finalizer || entry.Delete || incomplete); {
		case marked && entry.Primary() == rules.BundleKind.GroupKind():
			left.Bundles = append(left.Bundles, key.Rule)
		case marked:
			left.Kinds[entry.Primary()] = true
		}
		for _, gvk := range entry.Kinds() {
			if gk := gvk.GroupKind(); !rendered[key][gk] && (loaded || entry.Delete || incomplete) {
				left.Kinds[gk] = true
			}
		}
	}
	return left, nil
}

// union returns a list with what another one has besides.
func union(list, more []string) []string {
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list[:len(list):len(list)], item)
		}
	}
	return list
}

// orphanedFinalizers returns the finalizers of rules that are not loaded or are for
// other kinds now.
func orphanedFinalizers(entries map[Key]Entry, loaded map[Key]bool) (all []Finalizer) {
	for _, key := range SortedKeys(entries) {
		if entries[key].Finalizer && !loaded[key] {
			all = append(all, Finalizer(key))
		}
	}
	return all
}

func removedRules(entries map[Key]Entry, loaded map[Key]bool) (removed []RemovedRule) {
	for _, key := range SortedKeys(entries) {
		if entry := entries[key]; entry.Delete && !loaded[key] {
			removed = append(removed, RemovedRule{key.Rule, entry})
		}
	}
	return removed
}

// SortedKeys returns the keys of entries by rule and kind.
func SortedKeys(entries map[Key]Entry) []Key {
	return slices.SortedFunc(maps.Keys(entries), CompareKeys)
}

// keepUnconfirmed moves rules of another source to Kept unless their removal is
// confirmed.
func (inv *Inventory) keepUnconfirmed(found *Orphaned, entries map[Key]Entry) {
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
	found.Finalizers = slices.DeleteFunc(found.Finalizers,
		func(f Finalizer) bool { return keep(f.Rule, f.Kind, entries[f.key()].Source) })
	slices.SortFunc(found.Kept, func(a, b KeptRule) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
}
