package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A finder turns the fields that the API server names in an answer, such as
// spec.volumes[0].configMap, into paths as they stand in a fieldsV1. It needs
// no schema: the entries of managedFields tell what identifies the elements of
// a list.
type finder struct {
	live    any // what the paths are of
	desired any
	trees   []map[string]any // of all entries of managedFields
	// rivals: if the rendering has the named field and the live object does not,
	// what stands in its way are fields beside it that only the live object has.
	// Which of two the API server names depends on the order in which it looks.
	rivals bool
}

// A place is a spot in the live object, with what is desired there and what
// the entries of managedFields have there.
type place struct {
	live, desired any
	trees         []map[string]any
	path          []string
}

// find returns the paths of what is in the way of a field, none if that cannot
// be told.
func (f *finder) find(field string) [][]string {
	return f.walk(place{live: f.live, desired: f.desired, trees: f.trees}, segments(field))
}

// segments splits a field's name: dots separate keys, and brackets hold the
// index of an element or a key that may have dots of its own.
func segments(field string) (out []string) {
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

func (f *finder) walk(at place, rest []string) [][]string {
	if len(rest) == 0 {
		return nil
	}
	switch live := at.live.(type) {
	case map[string]any:
		value, there := live[rest[0]]
		desired, _ := at.desired.(map[string]any)
		want, wanted := desired[rest[0]]
		if len(rest) > 1 {
			return f.walk(at.down("f:"+rest[0], value, want), rest[1:])
		}
		switch {
		case there && !wanted:
			return [][]string{append(slices.Clip(at.path), "f:"+rest[0])}
		case !there && wanted && f.rivals:
			return at.rivals(live, desired)
		}
	case []any:
		return f.walkList(at, live, rest)
	}
	return nil
}

// walkList looks at the named element first, and then at the others: the index
// is that of the list which the apply would have made.
func (f *finder) walkList(at place, live []any, rest []string) [][]string {
	index, err := strconv.Atoi(rest[0])
	if err != nil || index < 0 {
		return nil
	}
	if index < len(live) {
		live = append([]any{live[index]}, live...)
	}
	list, _ := at.desired.([]any)
	for _, item := range live {
		key := at.keyOf(item)
		id := strings.TrimPrefix(key, "k:")
		i := slices.IndexFunc(list, func(want any) bool {
			element, ok := want.(map[string]any)
			return ok && key != "" && keyMatches(id, element)
		})
		if i < 0 {
			continue // It is no element of ours.
		}
		if found := f.walk(at.down(key, item, list[i]), rest[1:]); len(found) > 0 {
			return found
		}
	}
	return nil
}

// down goes one step further.
func (at place) down(key string, live, desired any) place {
	next := place{live: live, desired: desired, path: append(slices.Clip(at.path), key)}
	for _, tree := range at.trees {
		if branch, ok := tree[key].(map[string]any); ok {
			next.trees = append(next.trees, branch)
		}
	}
	return next
}

// rivals returns the fields that only the live object has: those that are
// objects, as are most of which there can be only one, or else all that are no
// lists.
func (at place) rivals(live, desired map[string]any) (paths [][]string) {
	var objects, values [][]string
	for _, key := range slices.Sorted(maps.Keys(live)) {
		if _, wanted := desired[key]; wanted {
			continue
		}
		path := append(slices.Clip(at.path), "f:"+key)
		switch live[key].(type) {
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

// keyOf returns the key under which entries of managedFields have an element of
// a list, or "". Where no entry has the list, it is its name.
func (at place) keyOf(item any) string {
	element, ok := item.(map[string]any)
	if !ok {
		return ""
	}
	for _, tree := range at.trees {
		for key := range tree {
			id, keyed := strings.CutPrefix(key, "k:")
			if keyed && identifies(id, element) {
				return key
			}
		}
	}
	if name, ok := element["name"].(string); ok && len(at.trees) == 0 {
		if id, err := json.Marshal(map[string]string{"name": name}); err == nil {
			return "k:" + string(id)
		}
	}
	return ""
}

// identifies reports whether an element has all the keys of an entry.
func identifies(id string, element map[string]any) bool {
	keys := map[string]any{}
	if json.Unmarshal([]byte(id), &keys) != nil {
		return false
	}
	for key, value := range keys {
		own, ok := element[key]
		if !ok || !sameValue(value, own) {
			return false
		}
	}
	return len(keys) > 0
}
