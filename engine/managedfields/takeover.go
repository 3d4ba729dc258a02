package managedfields

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TakenBy returns the fields that we owned of a child and no longer own, and the
// manager that owns them now. Without such fields, or if nobody owns them, it
// returns the manager that wrote last. "" is no manager at all.
func TakenBy(object map[string]any, before Entry) (manager string, fields []string) {
	others := otherManagers(object)
	lost := lostFields(before, ChildEntry(object))
	for _, m := range others {
		theirs := m.entry().Set()
		for _, path := range lost {
			if theirs.fields.Has(path) {
				fields = append(fields, displayPath(path))
			}
		}
		if len(fields) > 0 {
			return m.name, fields
		}
	}
	for _, path := range lost {
		fields = append(fields, displayPath(path))
	}
	for _, m := range others {
		if m.subresource != "status" {
			return m.name, fields
		}
	}
	return "", fields
}

// otherManagers returns the managers of a child apart from us, the latest first.
func otherManagers(object map[string]any) []manager {
	all := slices.DeleteFunc(managersOf(object), manager.ownsChild)
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b manager) int { return strings.Compare(b.time, a.time) })
	return all
}

// lostFields returns the leaves that an entry had and another one has not.
func lostFields(before, after Entry) (lost []fieldpath.Path) {
	before.Set().fields.Difference(after.Set().fields).Leaves().Iterate(func(path fieldpath.Path) {
		lost = append(lost, path.Copy())
	})
	return lost
}

// displayPath prints a path as people write it: spec.containers[name="web"].image.
func displayPath(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }
