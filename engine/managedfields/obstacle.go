package managedfields

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// obstacles returns the paths of the live fields that block an apply, for a field
// that the API server names in its answer, such as spec.volumes[0].configMap. It
// returns none if it cannot find them. It needs no schema: managedFields has the keys
// of list items.
func (r Repair) obstacles(field string, owners []Set, own Set) []fieldpath.Path {
	return r.search(r.root(owners, own), fieldSegments(field))
}

func (r Repair) root(owners []Set, own Set) position {
	return position{live: r.Live.Object, desired: r.Desired, owners: owners, own: own}
}

// A position is a path in the live object, with the live and the desired value and
// the sets of the owners at that path.
type position struct {
	live, desired any
	owners        []Set
	own           Set // one of them
	path          fieldpath.Path
}

// fieldSegments splits a field's name. Dots separate keys, and brackets hold the
// index of an item, or a key that may contain dots.
func fieldSegments(field string) (out []string) {
	for field != "" {
		end := strings.IndexAny(field, ".[")
		switch {
		case field[0] == '[':
			key, rest, found := strings.Cut(field[1:], "]")
			if !found {
				return nil
			}
			out, field = append(out, key), strings.TrimPrefix(rest, ".")
		case end < 0:
			return append(out, field)
		default:
			out, field = append(out, field[:end]), strings.TrimPrefix(field[end:], ".")
		}
	}
	return out
}

func (r Repair) search(at position, rest []string) []fieldpath.Path {
	if len(rest) == 0 {
		return nil
	}
	switch live := at.live.(type) {
	case map[string]any:
		name := fieldpath.FieldNameElement(rest[0])
		have, exists := live[rest[0]]
		desired, _ := at.desired.(map[string]any)
		want, wanted := desired[rest[0]]
		switch {
		case len(rest) > 1:
			return r.search(at.below(name, have, want), rest[1:])
		case exists && !wanted:
			return []fieldpath.Path{at.child(name)}
		case !exists && wanted && r.AcceptedBefore:
			return at.rivals(live, desired)
		}
	case []any:
		return r.searchList(at, live, rest)
	}
	return nil
}

// searchList tries the named item first, and then the others: the index refers to the
// list as the apply would have made it.
func (r Repair) searchList(at position, live []any, rest []string) []fieldpath.Path {
	index, err := strconv.Atoi(rest[0])
	if err != nil || index < 0 {
		return nil
	}
	if index < len(live) {
		live = append([]any{live[index]}, live...)
	}
	list, _ := at.desired.([]any)
	for _, item := range live {
		key, found := at.keyOf(item)
		if !found {
			continue
		}
		i := slices.IndexFunc(list, func(want any) bool { return selects(key, want) })
		if i < 0 {
			continue // The rendering does not have the item.
		}
		if found := r.search(at.below(key, item, list[i]), rest[1:]); len(found) > 0 {
			return found
		}
	}
	if len(rest) == 2 {
		return at.colliding(live, list, rest[1])
	}
	return nil
}

// colliding returns the elements of a list that only the live object has and whose field equals that of
// an element of ours: the API server rejects two ports of the same name, or two without a name.
func (at position) colliding(live, desired []any, name string) (paths []fieldpath.Path) {
	for _, item := range live {
		key, found := at.keyOf(item)
		if !found || at.wantedAs(key, desired) >= 0 {
			continue
		}
		have, _ := item.(map[string]any)
		if slices.ContainsFunc(desired, func(want any) bool {
			object, isMap := want.(map[string]any)
			return isMap && EqualValues(object[name], have[name])
		}) {
			paths = append(paths, at.child(key))
		}
	}
	return paths
}

// wantedAs returns the index of the desired item that a live item with this key is, or -1. A key that the
// desired item omits may have any value, so the live item must also be ours.
func (at position) wantedAs(key fieldpath.PathElement, desired []any) int {
	return slices.IndexFunc(desired, func(want any) bool {
		object, isMap := want.(map[string]any)
		if !isMap || !selects(key, want) {
			return false
		}
		_, ours := at.own.at(key)
		return ours || hasKeys(object, *key.Key)
	})
}

func (at position) below(e fieldpath.PathElement, live, desired any) position {
	next := position{live: live, desired: desired, path: at.child(e)}
	next.own, _ = at.own.at(e)
	for _, owner := range at.owners {
		if set, found := owner.at(e); found {
			next.owners = append(next.owners, set)
		}
	}
	return next
}

func (at position) child(e fieldpath.PathElement) fieldpath.Path { return append(at.path.Copy(), e) }

// rivals returns the fields that only the live object has. It prefers objects,
// because most mutually exclusive fields are objects, and otherwise returns all
// fields that are not lists.
func (at position) rivals(live, desired map[string]any) []fieldpath.Path {
	var objects, values []fieldpath.Path
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if _, wanted := desired[name]; wanted {
			continue
		}
		path := at.child(fieldpath.FieldNameElement(name))
		switch live[name].(type) {
		case map[string]any:
			objects = append(objects, path)
		case []any:
		default:
			values = append(values, path)
		}
	}
	if len(objects) > 0 {
		return objects
	}
	return values
}

// keyOf returns the key of a list item in managedFields. A list without an owner is
// assumed to have the key name.
func (at position) keyOf(item any) (fieldpath.PathElement, bool) {
	object, _ := item.(map[string]any)
	for _, owner := range at.owners {
		for _, e := range owner.elements() {
			if e.Key != nil && hasKeys(object, *e.Key) && selects(e, item) {
				return e, true
			}
		}
	}
	name, named := object["name"].(string)
	return fieldpath.KeyElementByFields("name", name), named && len(at.owners) == 0
}

func hasKeys(object map[string]any, keys value.FieldList) bool {
	for _, key := range keys {
		if _, found := object[key.Name]; !found {
			return false
		}
	}
	return len(keys) > 0
}

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
