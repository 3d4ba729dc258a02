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
// granular, nobody owns what our next apply drops from it. If the rendering empties a map whose keys are
// all ours, the apply makes the map null.
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
	sets, own := r.sets()
	if own < 0 {
		return nil, nil // A forced apply takes ownership of all its fields.
	}
	all := entriesOf(r.Live.Object)
	since := parseManager(all[own]).time
	var owners, later []Set
	for i, e := range all {
		if sets[i].fields == nil {
			continue
		}
		owners = append(owners, sets[i])
		if i != own && parseManager(e).time >= since {
			later = append(later, sets[i])
		}
	}
	taken := r.displaced(owners, later, sets[own])
	for _, field := range r.Causes {
		taken = append(taken, r.obstacles(field, owners, sets[own])...)
	}
	entries, err := taking(all, sets, own, taken)
	if err != nil {
		return nil, err
	}
	return r.patch(entries, r.leftovers(sets[own]))
}

// RemoveLeftovers is Patch for an object of others, of which we apply some fields: it removes what was
// ours, and takes nothing from other managers.
func (r Repair) RemoveLeftovers() ([]byte, error) {
	sets, own := r.sets()
	if own < 0 {
		return nil, nil
	}
	return r.patch(nil, r.leftovers(sets[own]))
}

// Disown returns a JSON patch with which the manager no longer owns some fields, or nil if it owns none of them. Their
// values stay.
func (r Repair) Disown(fields [][]string) ([]byte, error) {
	sets, own := r.sets()
	if own < 0 {
		return nil, nil
	}
	all := entriesOf(r.Live.Object)
	after := sets[own].Without(fields)
	if after.Equals(sets[own]) {
		return nil, nil
	}
	entry, err := withFields(all[own], after)
	if err != nil {
		return nil, err
	}
	entries := slices.Clone(all)
	if entries[own] = entry; entry == nil {
		entries = slices.Delete(entries, own, own+1)
	}
	return r.patch(entries, nil)
}

// sets returns the fields of each entry of the manager's subresource, zero for other entries, and the index
// of the manager's own, or -1.
func (r Repair) sets() (sets []Set, own int) {
	own = -1
	for i, e := range entriesOf(r.Live.Object) {
		set, m := Set{}, parseManager(e)
		if m.subresource == r.Manager.Subresource && m.fieldsV1 != nil {
			set = m.entry().Set()
			if r.Manager.is(m) {
				own = i
			}
		}
		sets = append(sets, set)
	}
	return sets, own
}

// taking returns the entries after one of them has taken fields from the others, or nil if none changes.
func taking(all []any, sets []Set, own int, taken []fieldpath.Path) (entries []any, err error) {
	changed := false
	for i, e := range all {
		if set := sets[i]; set.fields != nil {
			after := set.without(taken)
			if i == own {
				after = set.with(taken)
			}
			if !after.Equals(set) {
				changed = true
				if e, err = withFields(e, after); err != nil {
					return nil, err
				}
			}
		}
		if e != nil {
			entries = append(entries, e)
		}
	}
	if !changed {
		return nil, nil
	}
	return entries, nil
}

// patch returns a JSON patch of this state of the object, or nil if it would change nothing. Without
// entries, managedFields stay.
func (r Repair) patch(entries []any, removed []string) ([]byte, error) {
	if len(entries)+len(removed) == 0 {
		return nil, nil
	}
	steps := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": r.Live.GetResourceVersion()}}
	if entries != nil {
		steps = append(steps, map[string]any{"op": "replace", "path": "/metadata/managedFields", "value": entries})
	}
	for _, pointer := range removed {
		steps = append(steps, map[string]any{"op": "remove", "path": pointer})
	}
	return json.Marshal(steps)
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
	index := slices.IndexFunc(entriesOf(u.Object), func(e any) bool { return parseManager(e).name == beforeFirstApply })
	if index < 0 {
		return nil, nil
	}
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "test", "path": fmt.Sprintf("/metadata/managedFields/%d/manager", index), "value": beforeFirstApply},
		{"op": "remove", "path": fmt.Sprintf("/metadata/managedFields/%d", index)},
	})
}
