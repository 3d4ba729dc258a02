package managedfields

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A Repair is an apply that has to remove what another writer has put in the place of our fields. An
// apply cannot do that alone, because we do not own it.
//
// Some fields exclude each other: the types of a volume, or a value and its source. If another writer
// switches from our field to another one, each of our applies sets both, and the API server rejects it.
// And if another writer changes the key of an element of a list, such as the port of a Service or the
// name of a container, each of our applies adds ours beside it. And if a field turns from atomic to
// granular, nobody owns what our next apply drops from it. If the rendering has an empty map where we
// own all keys, the apply makes it null.
type Repair struct {
	Live    *unstructured.Unstructured
	Desired map[string]any
	Manager Applier
	Causes  []string         // the fields that the API server names; empty: it has not rejected the apply
	Divided []fieldpath.Path // the fields that we owned as a whole, see Divided
	// AcceptedBefore means that the API server accepted the same rendering before. If
	// it then names a field that the live object lacks, the fields beside that one
	// block it. Which of two fields the API server names depends on the order of its
	// checks.
	AcceptedBefore bool
}

// An Applier is one of our managers of an object, or of a subresource of it.
type Applier struct {
	Name        string
	Subresource string // "": the object itself
}

// Rendering is the Applier of children.
var Rendering = Applier{Name: Manager}

func (a Applier) is(m manager) bool {
	return m.applied && m.name == a.Name && m.subresource == a.Subresource
}

// Patch returns a JSON patch that makes us the only owner of the fields that block the apply or stand
// in for ours, and that removes what was ours, or nil if there is nothing of that. The next apply does not
// contain those fields and so removes them. It cannot repeat forever: we already own the fields that were
// taken over.
func (r Repair) Patch() ([]byte, error) {
	entries := slices.Clone(entriesOf(r.Live.Object))
	sets := make([]Set, len(entries)) // zero if the entry owns no part of the object
	var owners []Set
	own, since := -1, ""
	for i, e := range entries {
		m := parseManager(e)
		if m.subresource != r.Manager.Subresource || m.fieldsV1 == nil {
			continue
		}
		sets[i] = m.entry().Set()
		owners = append(owners, sets[i])
		if r.Manager.is(m) {
			own, since = i, m.time
		}
	}
	if own < 0 {
		return nil, nil // A forced apply takes ownership of all its fields.
	}
	var later []Set
	for i, e := range entries {
		if m := parseManager(e); i != own && sets[i].fields != nil && m.time >= since {
			later = append(later, sets[i])
		}
	}
	taken := r.displaced(owners, later, sets[own])
	for _, field := range r.Causes {
		taken = append(taken, r.obstacles(field, owners, sets[own])...)
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
	patch := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": r.Live.GetResourceVersion()}}
	if changed {
		entries = slices.DeleteFunc(entries, func(e any) bool { return e == nil })
		patch = append(patch, map[string]any{"op": "replace", "path": "/metadata/managedFields", "value": entries})
	}
	for _, pointer := range r.leftovers(owners, sets[own], r.others()) {
		patch = append(patch, map[string]any{"op": "remove", "path": pointer})
	}
	if len(patch) == 1 {
		return nil, nil
	}
	return json.Marshal(patch)
}

// others returns the sets of the other managers, of all subresources.
func (r Repair) others() (all []Set) {
	for _, m := range ManagersOf(r.Live.Object) {
		if !r.Manager.is(m) {
			all = append(all, m.entry().Set())
		}
	}
	return all
}

// withFields returns an entry of managedFields with other fields, or nil if the set is
// empty.
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

// with adds paths that the set does not have, not even partly.
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

// ReleaseOrphanedFields returns a JSON patch for this state of an object that removes
// the entry before-first-apply, or nil if it has none.
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
