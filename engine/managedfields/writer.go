package managedfields

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A Writer is a manager that owns a field, and when it last changed one of its fields.
type Writer struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	Time        string `json:"time,omitempty"`
}

// WritersOf returns the managers that own a field of an object, or something in it, the
// latest first. The path has the keys of maps, and indexes of lists as int.
func WritersOf(object map[string]any, path []any) (all []Writer) {
	for _, m := range ManagersOf(object) {
		if !m.entry().Set().ownsAt(object, path) {
			continue
		}
		w := Writer{Manager: m.name, Operation: "Update", Subresource: m.subresource, Time: m.time}
		if m.applied {
			w.Operation = "Apply"
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b Writer) int { return strings.Compare(b.Time, a.Time) })
	return all
}

// ownsAt reports whether the set has what a path of a live value leads to, something in it,
// or all that it is in.
func (s Set) ownsAt(live any, path []any) bool {
	if len(path) == 0 || s.fields == nil {
		return true
	}
	switch step := path[0].(type) {
	case string:
		object, _ := live.(map[string]any)
		below, found := s.at(fieldpath.FieldNameElement(step))
		return found && below.ownsAt(object[step], path[1:])
	case int:
		list, _ := live.([]any)
		for _, e := range s.elements() {
			if step < len(list) && selects(e, list[step]) {
				below, _ := s.at(e)
				return below.ownsAt(list[step], path[1:])
			}
		}
	}
	return false
}
