package engine

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unique"
)

// Our names in managedFields.
const (
	// FieldManager writes children, and status where it is a subresource.
	FieldManager = "reconcel"
	// StatusManager writes the status of a kind without the subresource: such
	// an object may also be a child of another rule, and an apply drops what the
	// same manager set before and no longer says.
	StatusManager = "reconcel/status"
)

// fields is the interned fieldsV1 of our own managedFields entry; the zero
// value means that the object has none.
//
// The API server sends the same entry byte for byte in every response and
// watch event until somebody changes a field of it, since whoever changes a
// field that we own takes it over. So two of them are equal if and only if
// nothing of ours was touched in between.
type fields = unique.Handle[string]

// ownFields returns the server-side-apply entry of our writes to the object,
// or to its status where the object is a primary. A kind that has got the status
// subresource, or lost it, has two: the later one tells.
func ownFields(object map[string]any, role role) fields {
	metadata, _ := object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range slices.Backward(entries) { // They are in the order of time.
		entry, _ := e.(map[string]any)
		if entry["operation"] != "Apply" || !writtenAs(role, entry) {
			continue
		}
		// Map keys marshal in order, so equal sets give equal strings.
		raw, err := json.Marshal(entry["fieldsV1"])
		if err != nil {
			return fields{}
		}
		return unique.Make(string(raw))
	}
	return fields{}
}

// PatchManager is the manager of what a rule writes into its primary. Each rule
// has one of its own, since an apply drops what the same manager set before and
// no longer says.
func PatchManager(rule string) string {
	manager := FieldManager + "/" + rule
	if manager == StatusManager {
		return manager + "/patch" // A rule may be called status.
	}
	return manager
}

// patchFields returns the entries of our patches to the object, by manager, or
// nil where there are none.
func patchFields(object map[string]any) (found map[string]fields) {
	metadata, _ := object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		manager, _ := entry["manager"].(string)
		if entry["operation"] != "Apply" || entry["subresource"] != nil || manager == StatusManager ||
			!strings.HasPrefix(manager, FieldManager+"/") {
			continue
		}
		raw, err := json.Marshal(entry["fieldsV1"])
		if err != nil {
			continue
		}
		if found == nil {
			found = map[string]fields{}
		}
		found[manager] = unique.Make(string(raw))
	}
	return found
}

func writtenAs(role role, entry map[string]any) bool {
	subresource, _ := entry["subresource"].(string)
	if role == childRole {
		return entry["manager"] == FieldManager && subresource == ""
	}
	return entry["manager"] == StatusManager || entry["manager"] == FieldManager && subresource == "status"
}

// decodeFields returns the tree of a fieldsV1: keys are "f:name", `k:{...}`,
// "v:value", "i:index" and ".", leaves are empty maps.
func decodeFields(f fields) (map[string]any, error) {
	tree := map[string]any{}
	if f == (fields{}) {
		return tree, nil
	}
	err := json.Unmarshal([]byte(f.Value()), &tree)
	return tree, err
}

// covers reports whether every field of desired is in the tree. It needs no
// schema: the shape of the tree tells associative lists from atomic ones.
func covers(tree map[string]any, desired any) bool {
	if len(tree) == 0 {
		return true // A leaf: the value is owned as a whole.
	}
	switch desired := desired.(type) {
	case map[string]any:
		for key, value := range desired {
			if list, ok := value.([]any); value == nil || ok && len(list) == 0 && tree["f:"+key] == nil {
				continue // A null is never owned, nor is an empty associative list.
			}
			branch, ok := tree["f:"+key].(map[string]any)
			if !ok || !covers(branch, value) {
				return false
			}
		}
	case []any:
		for _, item := range desired {
			if !coversItem(tree, item) {
				return false
			}
		}
	}
	return true
}

// coversItem looks for the entry of one element of an associative list or set.
func coversItem(tree map[string]any, item any) bool {
	for key, branch := range tree {
		kind, id, _ := strings.Cut(key, ":")
		switch kind {
		case "k":
			element, ok := item.(map[string]any)
			if ok && keyMatches(id, element) {
				sub, _ := branch.(map[string]any)
				return covers(sub, item)
			}
		case "v":
			var value any
			if json.Unmarshal([]byte(id), &value) == nil && sameValue(value, item) {
				return true
			}
		}
	}
	return false
}

// keyMatches reports whether the element has the keys of an entry. A key that
// the element leaves out was filled in by the server's defaults.
func keyMatches(id string, element map[string]any) bool {
	keys := map[string]any{}
	if json.Unmarshal([]byte(id), &keys) != nil {
		return false
	}
	for key, value := range keys {
		if own, ok := element[key]; ok && !sameValue(value, own) {
			return false
		}
	}
	return true
}

// exceeds reports whether the tree has a field or a list entry that desired
// does not have.
func exceeds(tree map[string]any, desired any) bool {
	for key, branch := range tree {
		sub, _ := branch.(map[string]any)
		kind, id, _ := strings.Cut(key, ":")
		switch kind {
		case "f":
			object, _ := desired.(map[string]any)
			value, ok := object[id]
			if !ok || exceeds(sub, value) {
				return true
			}
		case "k":
			list, _ := desired.([]any)
			if !slices.ContainsFunc(list, func(item any) bool {
				element, ok := item.(map[string]any)
				return ok && keyMatches(id, element) && !exceeds(sub, item)
			}) {
				return true
			}
		case "v":
			var value any
			list, _ := desired.([]any)
			same := func(item any) bool { return sameValue(value, item) }
			if json.Unmarshal([]byte(id), &value) == nil && !slices.ContainsFunc(list, same) {
				return true
			}
		}
	}
	return false
}

// holds reports whether a live value says what is desired, as far as that says
// anything. tree is what we own of it: its shape tells lists whose elements
// have an identity from those that are one value.
func holds(tree map[string]any, live, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		object, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for key, want := range desired {
			have, there := object[key]
			if !there && want == nil {
				continue
			}
			branch, _ := tree["f:"+key].(map[string]any)
			if !there || !holds(branch, have, want) {
				return false
			}
		}
		return true
	case []any:
		list, _ := live.([]any)
		return sameValue(desired, live) || len(tree) > 0 && !slices.ContainsFunc(desired, func(item any) bool {
			return !slices.ContainsFunc(list, func(have any) bool { return holdsItem(tree, have, item) })
		})
	}
	return sameValue(desired, live)
}

// holdsItem reports whether an element of an associative list or set is the
// desired one.
func holdsItem(tree map[string]any, live, desired any) bool {
	want, ok := desired.(map[string]any)
	if !ok {
		return sameValue(desired, live)
	}
	have, _ := live.(map[string]any)
	for key, branch := range tree {
		id, keyed := strings.CutPrefix(key, "k:")
		sub, _ := branch.(map[string]any)
		if keyed && keyMatches(id, want) && keyMatches(id, have) && holds(sub, have, want) {
			return true
		}
	}
	return false
}

// sameValue compares two JSON values whose numbers may have been decoded in
// different ways.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case float64:
		return a == asFloat(b)
	case int64:
		return float64(a) == asFloat(b)
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		return contains(other, a)
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for i := range a {
			if !sameValue(a[i], other[i]) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}

// contains reports whether live has every entry of desired, maps compared
// entry by entry and everything else as a whole.
func contains(live, desired map[string]any) bool {
	for key, want := range desired {
		have, ok := live[key]
		if !ok && want != nil {
			return false
		}
		wantMap, isMap := want.(map[string]any)
		haveMap, both := have.(map[string]any)
		if isMap && both {
			if !contains(haveMap, wantMap) {
				return false
			}
			continue
		}
		if !sameValue(want, have) {
			return false
		}
	}
	return true
}

// asFloat returns the number as a float64; what is no number equals nothing.
func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}
