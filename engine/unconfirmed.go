package engine

import (
	"cmp"
	"slices"
)

// A keptRule is a rule in the inventory that is not loaded and that this process
// has never had: rules from another source did. Its objects and finalizers stay.
type keptRule struct {
	name   string
	kind   string // Kind.group of the primaries
	source string // of the rules that had it last
}

// keepUnconfirmed takes out of what is to be removed everything of rules from
// another source whose removal nobody has confirmed.
func (inv *inventory) keepUnconfirmed(former *past, entries map[string]inventoryEntry) {
	keep := func(rule, kind, source string) bool {
		if source == inv.source || slices.Contains(inv.confirmed, rule) {
			return false
		}
		if k := (keptRule{rule, kind, source}); !slices.Contains(former.kept, k) {
			former.kept = append(former.kept, k)
		}
		return true
	}
	former.removed = slices.DeleteFunc(former.removed, func(r removedRule) bool { return keep(r.name, r.made.For, r.made.Source) })
	former.finalizers = slices.DeleteFunc(former.finalizers, func(s staleFinalizer) bool {
		entry := entries[s.rule]
		source := entry.Source
		for _, e := range entry.Earlier {
			if e.For == s.kind {
				source = e.Source
			}
		}
		return keep(s.rule, s.kind, source)
	})
	slices.SortFunc(former.kept, func(a, b keptRule) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind)) })
}

// tellKept says once of each rule that it is kept, and how to have it removed.
func (e *Engine) tellKept(kept []keptRule) {
	for _, k := range kept {
		if slices.Contains(e.toldKept, k) {
			continue
		}
		e.toldKept = append(e.toldKept, k)
		e.log.Warn("inventory has an unknown rule, keeping its objects and finalizers",
			"rule", k.name, "kind", k.kind, "source", k.source,
			"hint", "add the file of the rule; or to remove the rule start with --confirm-removal="+k.name+"; a second installation needs another --name")
	}
}
