package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Ignored fields are set when an object is created. After that they belong to
// whoever changes them: drift detection leaves them out, and an update has them
// only until somebody else takes them over. An apply that leaves out a field that
// we alone own would reset it.

// onlyIgnored reports whether ownership changed in ignored fields alone since our
// last write.
func onlyIgnored(d *rules.Desired, live *watch.Object, w *written) bool {
	paths := d.IgnoredPaths()
	if len(paths) == 0 || w.fields == (managedfields.Entry{}) {
		return false
	}
	if !w.fields.Set().Without(paths).Equals(live.Fields().Set().Without(paths)) {
		return false
	}
	w.fields = live.Fields() // Next time it takes no decoding.
	return true
}

// withoutIgnored removes the maps of a rendering that are empty because an ignored
// field is left out: we never owned them for themselves.
func withoutIgnored(d *rules.Desired, desired map[string]any) map[string]any {
	for _, path := range d.IgnoredPaths() {
		for end := len(path) - 1; end > 0; end-- {
			m, found, err := unstructured.NestedFieldNoCopy(desired, path[:end]...)
			if parent, ok := m.(map[string]any); err != nil || !found || !ok || len(parent) > 0 {
				break
			}
			unstructured.RemoveNestedField(desired, path[:end]...)
		}
	}
	return desired
}

// ownedIgnored returns the ignored fields that we still own, with their values.
func ownedIgnored(d *rules.Desired, live *watch.Object) []rules.FieldValue {
	paths := d.IgnoredPaths()
	if len(paths) == 0 {
		return nil
	}
	owned := live.Fields().Set()
	var out []rules.FieldValue
	for _, path := range paths {
		if !owned.Has(path...) {
			continue
		}
		if value, found, err := unstructured.NestedFieldNoCopy(live.Content(), path...); found && err == nil {
			out = append(out, rules.FieldValue{Path: path, Value: value})
		}
	}
	return out
}
