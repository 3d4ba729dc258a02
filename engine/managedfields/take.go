package managedfields

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A RejectedApply is an apply of ours that the API server refuses because of
// fields that somebody else has set. Of some fields there may be only one: the
// kinds of a volume, a value and its source. If somebody switches from ours to
// another, every apply of ours sets both. The apply cannot remove the other field,
// since we do not own it.
type RejectedApply struct {
	Live    *unstructured.Unstructured
	Desired map[string]any
	Causes  []string // the fields that the API server names
	// AcceptedBefore says that the API server accepted the same rendering before.
	// If it then names a field that the live object lacks, the fields beside that
	// one stand in its way. Which of two the API server names depends on the order
	// in which it looks.
	AcceptedBefore bool
}

// TakeOwnership returns a JSON patch that makes us the only owner of the fields
// that stand in the way, or nil if there are none. The next apply, which does not
// mention them, removes them. We already own what was taken over once, so that
// repeating it ends.
func (r RejectedApply) TakeOwnership() ([]byte, error) {
	entries := slices.Clone(entriesOf(r.Live.Object))
	sets := make([]Set, len(entries)) // zero where the entry owns no part of the object
	var owners []Set
	own := -1
	for i, e := range entries {
		m := parseManager(e)
		if m.subresource != "" || m.fieldsV1 == nil {
			continue
		}
		sets[i] = m.entry().Set()
		owners = append(owners, sets[i])
		if m.ownsChild() {
			own = i
		}
	}
	if own < 0 {
		return nil, nil // A forced apply takes ownership of all its fields.
	}
	var taken []fieldpath.Path
	for _, field := range r.Causes {
		taken = append(taken, r.obstacles(field, owners)...)
	}
	changed := false
	for i, e := range entries {
		if sets[i].fields == nil {
			continue
		}
		after := sets[i].without(taken)
		if i == own {
			after = sets[i].with(taken)
		}
		if after.Equals(sets[i]) {
			continue
		}
		changed = true
		entry, err := withFields(e, after)
		if err != nil {
			return nil, err
		}
		entries[i] = entry
	}
	if !changed {
		return nil, nil
	}
	entries = slices.DeleteFunc(entries, func(e any) bool { return e == nil })
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": r.Live.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
	})
}

// withFields returns an entry of managedFields with other fields, or nil if there
// are none.
func withFields(e any, set Set) (any, error) {
	if set.Empty() {
		return nil, nil
	}
	raw, err := set.fields.ToJSON()
	if err != nil {
		return nil, err
	}
	old, _ := e.(map[string]any)
	entry := maps.Clone(old)
	entry["fieldsV1"] = json.RawMessage(raw)
	return entry, nil
}

// with adds paths that the set does not have, not even in part.
func (s Set) with(paths []fieldpath.Path) Set {
	set := s.fields.Copy()
	for _, path := range paths {
		if !(Set{set}).hasPath(path) {
			set.Insert(path)
		}
	}
	return Set{set}
}

// without removes paths and everything below them.
func (s Set) without(paths []fieldpath.Path) Set {
	return Set{s.fields.RecursiveDifference(fieldpath.NewSet(paths...))}
}

// ReleaseOrphanedFields returns a JSON patch for this state of an object that
// removes the entry before-first-apply, or nil if it has none.
func ReleaseOrphanedFields(u *unstructured.Unstructured) ([]byte, error) {
	index := orphanedIndex(u.Object)
	if index < 0 {
		return nil, nil
	}
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "test", "path": fmt.Sprintf("/metadata/managedFields/%d/manager", index), "value": beforeFirstApply},
		{"op": "remove", "path": fmt.Sprintf("/metadata/managedFields/%d", index)},
	})
}
