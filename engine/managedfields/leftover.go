package managedfields

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// leftovers returns JSON pointers (RFC 6901) to what the live object has in some fields, and neither the
// rendering has nor anybody else owns, in the order in which a JSON patch can remove it. The fields are
// those that we owned as a whole, and maps that are empty in the rendering and that the API server names: an
// apply that takes away all keys of a map makes it null, which most schemas of custom kinds reject
// (structured-merge-diff v6, removingWalker).
func (r Repair) leftovers(own Set) (pointers []string) {
	others := r.others()
	root := r.root(append([]Set{own}, others...), own)
	fields := slices.Clone(r.Divided)
	for _, name := range r.Causes {
		if path, ok := root.emptied(fieldSegments(name)); ok {
			fields = append(fields, path)
		}
	}
	for _, path := range fields {
		for _, pointer := range root.leftovers(path, "", others) {
			if !slices.Contains(pointers, pointer) {
				pointers = append(pointers, pointer)
			}
		}
	}
	return pointers
}

// emptied returns the path of a map with keys that the rendering has without any, for a field that the API
// server names. The index of an item is that of the list as the apply would have made it, so all items are
// tried.
func (at position) emptied(rest []string) (fieldpath.Path, bool) {
	if len(rest) == 0 {
		live, isMap := at.live.(map[string]any)
		desired, wanted := at.desired.(map[string]any)
		return at.path, isMap && wanted && len(live) > 0 && len(desired) == 0
	}
	switch live := at.live.(type) {
	case map[string]any:
		desired, _ := at.desired.(map[string]any)
		return at.below(fieldpath.FieldNameElement(rest[0]), live[rest[0]], desired[rest[0]]).emptied(rest[1:])
	case []any:
		desired, _ := at.desired.([]any)
		for _, item := range live {
			key, found := at.keyOf(item)
			if !found {
				continue
			}
			if i := at.wantedAs(key, desired); i >= 0 {
				if path, ok := at.below(key, item, desired[i]).emptied(rest[1:]); ok {
					return path, true
				}
			}
		}
	}
	return nil, false
}

// leftovers follows the rest of a path. pointer leads to the position.
func (at position) leftovers(rest fieldpath.Path, pointer string, others []Set) (pointers []string) {
	if len(rest) == 0 {
		return at.leftoversHere(pointer, others)
	}
	e := rest[0]
	switch live := at.live.(type) {
	case map[string]any:
		if e.FieldName != nil {
			desired, _ := at.desired.(map[string]any)
			return at.below(e, live[*e.FieldName], desired[*e.FieldName]).leftovers(rest[1:], pointer+"/"+escape(*e.FieldName),
				others)
		}
	case []any:
		desired, _ := at.desired.([]any)
		isIt := func(item any) bool { return selects(e, item) }
		i, j := slices.IndexFunc(live, isIt), slices.IndexFunc(desired, isIt)
		if i >= 0 && j >= 0 {
			return at.below(e, live[i], desired[j]).leftovers(rest[1:], pointer+"/"+strconv.Itoa(i), others)
		}
	}
	return nil
}

// leftoversHere returns pointers to the leftovers of a map or a list. Items are removed from the end, so
// that the indices of the others stay. If we have a key as one of several, the map is granular: another
// manager with the map alone had it without keys, and does not own the key.
func (at position) leftoversHere(pointer string, others []Set) (pointers []string) {
	owned := func(e fieldpath.PathElement) bool {
		_, apart := at.own.at(e)
		return slices.ContainsFunc(others, func(s Set) bool {
			return s.hasPath(at.child(e)) || !apart && s.Owns(at.child(e))
		})
	}
	switch live := at.live.(type) {
	case map[string]any:
		desired, wanted := at.desired.(map[string]any)
		if !wanted {
			return nil // The apply removes the whole field.
		}
		for _, name := range slices.Sorted(maps.Keys(live)) {
			if _, stays := desired[name]; !stays && !owned(fieldpath.FieldNameElement(name)) {
				pointers = append(pointers, pointer+"/"+escape(name))
			}
		}
	case []any:
		desired, wanted := at.desired.([]any)
		elements := at.own.elements()
		if !wanted || len(elements) == 0 {
			return nil
		}
		for i, item := range slices.Backward(live) {
			e := like(elements[0], item)
			stays := slices.ContainsFunc(desired, func(want any) bool { return selects(e, want) })
			if !stays && !owned(e) {
				pointers = append(pointers, pointer+"/"+strconv.Itoa(i))
			}
		}
	}
	return pointers
}

// like returns the path element of a list's item, in the form of another one of the same list.
func like(e fieldpath.PathElement, item any) fieldpath.PathElement {
	if e.Key == nil {
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}
	}
	object, _ := item.(map[string]any)
	keys := make(value.FieldList, len(*e.Key))
	for i, key := range *e.Key {
		keys[i] = value.Field{Name: key.Name, Value: value.NewValueInterface(object[key.Name])}
	}
	return fieldpath.PathElement{Key: &keys}
}

// escape returns a key as a JSON pointer has it.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
