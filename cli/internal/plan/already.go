package plan

import (
	"reflect"
	"slices"

	"reconcel/cli/internal/diff"
	"reconcel/engine"
)

// without removes what the running rules do to the primary, too: the repair of drift, and
// what waits or fails already.
func (r *result) without(old *diff.Primary) {
	r.changes = slices.DeleteFunc(slices.Clone(r.changes), func(c diff.Change) bool {
		already := slices.ContainsFunc(old.Changes, func(o diff.Change) bool { return sameChange(&o, &c) })
		if already {
			r.already++
		}
		return already
	})
	r.orphans = slices.DeleteFunc(slices.Clone(r.orphans), func(o engine.Orphan) bool {
		return slices.ContainsFunc(old.Report.Orphans, func(other engine.Orphan) bool { return other.Object == o.Object })
	})
}

// sameChange reports whether two changes have the same effect on the same object. The names
// of rules and positions in files may differ.
func sameChange(a, b *diff.Change) bool {
	if a.Object != b.Object || a.Part != b.Part || a.Action != b.Action || a.Later != b.Later {
		return false
	}
	if !a.Action.IsDifference() {
		return a.Child == b.Child
	}
	return reflect.DeepEqual(a.After, b.After)
}
