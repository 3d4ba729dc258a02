package managedfields

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// displaced returns the elements of lists that another writer has put in the place of ours, by changing
// the key. An element that others have added beside ours does not count: it came before our last apply,
// differs from the rendering, or our element is still there. later are the sets of managers that
// wrote after our last apply.
func (r Repair) displaced(owners, later []Set, own Set) []fieldpath.Path {
	return displaced(r.root(owners, own), later)
}

func displaced(at position, later []Set) (all []fieldpath.Path) {
	if len(later) == 0 {
		return nil
	}
	switch live := at.live.(type) {
	case map[string]any:
		desired, _ := at.desired.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(desired)) {
			if len(at.path) == 0 && name == "metadata" {
				continue // Owner references and finalizers of others.
			}
			e := fieldpath.FieldNameElement(name)
			all = append(all, displaced(at.below(e, live[name], desired[name]), below(later, e))...)
		}
	case []any:
		if desired, isList := at.desired.([]any); isList {
			all = displacedIn(at, live, desired, later)
		}
	}
	return all
}

// An extra is an element of a list that only the live object has.
type extra struct {
	index int
	key   fieldpath.PathElement
	item  map[string]any
}

func displacedIn(at position, live, desired []any, later []Set) (all []fieldpath.Path) {
	var extras []extra
	matched := make([]bool, len(desired))
	for i, item := range live {
		key, found := at.keyOf(item)
		if !found {
			return nil
		}
		if j := at.wantedAs(key, desired); j >= 0 {
			matched[j] = true
			all = append(all, displaced(at.below(key, item, desired[j]), below(later, key))...)
			continue
		}
		if object, isMap := item.(map[string]any); isMap && len(below(later, key)) > 0 {
			extras = append(extras, extra{i, key, object})
		}
	}
	for j, want := range desired {
		object, isMap := want.(map[string]any)
		if matched[j] || !isMap {
			continue
		}
		i := slices.IndexFunc(extras, func(x extra) bool { return at.standsIn(x, object, x.index == j) })
		if i < 0 {
			continue
		}
		all = append(all, at.child(extras[i].key))
		extras = slices.Delete(extras, i, i+1)
	}
	return all
}

// standsIn reports whether an element has the values of one of ours under another key. If ours has only a
// key, the other one must be in its place.
func (at position) standsIn(x extra, want map[string]any, inPlace bool) bool {
	rest := withoutKeys(want, x.key)
	if len(rest) == 0 {
		return inPlace
	}
	return slices.ContainsFunc(at.below(x.key, nil, nil).owners, func(s Set) bool { return s.Agrees(x.item, rest) })
}

func withoutKeys(item map[string]any, key fieldpath.PathElement) map[string]any {
	rest := maps.Clone(item)
	for _, k := range *key.Key {
		delete(rest, k.Name)
	}
	return rest
}

// below returns the sets of those that have an element, below it.
func below(sets []Set, e fieldpath.PathElement) (all []Set) {
	for _, s := range sets {
		if set, found := s.at(e); found {
			all = append(all, set)
		}
	}
	return all
}
