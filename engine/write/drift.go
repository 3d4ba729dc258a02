package write

import (
	"slices"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// drifted reports whether another writer changed our fields since our last write.
// It compares no values, so that defaulting causes no drift.
func drifted(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if live.Fields() == (managedfields.Entry{}) || !decide.CarriesRendering(live, d) {
		return true
	}
	if w.UID != live.GetUID() && !recognise(d, live, w) {
		return true
	}
	if live.Fields() != w.Fields && !onlyIgnored(d, live, w) && !(d.Child.Shared && recognise(d, live, w)) {
		return true // Of a shared object, another owner may have applied the same.
	}
	return secretDiffers(d, live, w)
}

// misplaced reports whether another writer may have changed the key of an element of a list that we
// applied. An apply would add ours beside it.
func misplaced(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if !decide.CarriesRendering(live, d) || live.HasOrphanedFields() {
		return false
	}
	return w.UID != live.GetUID() || managedfields.LosesElements(w.Fields, live.Fields())
}

// recognise compares an object that this process has not written with the
// rendering. If we own every field of the rendering, no writer has changed any, and
// the entry is the result of our last write.
func recognise(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	desired, err := d.Object()
	if err != nil || !live.Fields().Set().Covers(decide.WithoutIgnored(d, decide.Identifying(desired))) {
		return false
	}
	w.UID, w.Fields, w.Version = live.GetUID(), live.Fields(), live.GetResourceVersion()
	return true
}

// secretDiffers compares the data of a Secret, because neither a change through stringData
// shows in field ownership nor a key that the rule no longer generates in the rendering. It
// runs once for each state of the object and each version of the rule.
func secretDiffers(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if d.Identity.GVK.GroupKind() != outcome.Secrets || w.Checked == live.GetResourceVersion() && w.CheckedFor == d.Child {
		return false
	}
	desired, err := d.Object()
	if err != nil {
		return true
	}
	want, _ := desired["data"].(map[string]any)
	have, _ := live.Content()["data"].(map[string]any)
	for key := range want {
		if !decide.SameBytes(want[key], have[key]) {
			return true
		}
	}
	left, owned := d.IgnoredPaths(), live.Fields().Set()
	for key := range have {
		_, wanted := want[key]
		if !wanted && owned.Has("data", key) &&
			!slices.ContainsFunc(left, func(path []string) bool { return decide.Reaches(path, "data", key) }) {
			return true
		}
	}
	w.Checked, w.CheckedFor = live.GetResourceVersion(), d.Child
	return false
}

// Ignored fields are set when an object is created. After that they belong to
// whoever changes them. Drift detection skips them, and an update includes them
// only until another writer takes them over. An apply without a field that we alone
// own would reset that field.

// onlyIgnored reports whether only the ownership of ignored fields changed since our
// last write.
func onlyIgnored(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	paths := d.IgnoredPaths()
	if len(paths) == 0 || w.Fields == (managedfields.Entry{}) {
		return false
	}
	if !w.Fields.Set().Without(paths).Equals(live.Fields().Set().Without(paths)) {
		return false
	}
	w.Fields = live.Fields() // Avoids the decoding next time.
	return true
}
