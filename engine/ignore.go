package engine

import (
	"unique"

	"encoding/json"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// Ignored fields are set when an object is created, and then are whose they
// are: out of the comparison that shows drift, and in an update only as long as
// nobody else has taken them over, since an apply that leaves out a field that
// is ours alone resets it.

// onlyIgnored reports whether nothing but ignored fields have changed hands
// since our last write.
func onlyIgnored(d *rules.Desired, live *object, w *written) bool {
	paths := d.IgnoredPaths()
	if len(paths) == 0 {
		return false
	}
	before, after := cutFields(w.fields, paths), cutFields(live.fields, paths)
	if before == (fields{}) || before != after {
		return false
	}
	w.fields = live.fields // Not to be taken apart again.
	return true
}

// cutFields returns an entry without some fields.
func cutFields(f fields, paths [][]string) fields {
	tree, err := decodeFields(f)
	if err != nil {
		return fields{}
	}
	for _, path := range paths {
		cut(tree, fieldPath(path))
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return fields{}
	}
	return unique.Make(string(raw))
}

// fieldPath returns the path of a field as it stands in a fieldsV1.
func fieldPath(keys []string) []string {
	path := make([]string, len(keys))
	for i, key := range keys {
		path[i] = "f:" + key
	}
	return path
}

// cut takes a path with everything below it out of a tree, and what it leaves
// empty: an empty branch would stand for the whole field. It reports whether
// there was anything to take.
func cut(tree map[string]any, path []string) bool {
	branch, ok := tree[path[0]].(map[string]any)
	if !ok {
		return false
	}
	if len(path) == 1 {
		delete(tree, path[0])
		return true
	}
	if !cut(branch, path[1:]) {
		return false
	}
	if len(branch) == 0 {
		delete(tree, path[0])
	}
	return true
}

// withoutIgnored takes the maps out of a rendering that are empty for want of an
// ignored field: they were never ours for themselves.
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

// ownedIgnored returns the ignored fields that are still ours, with the values
// that they have.
func ownedIgnored(d *rules.Desired, live *object) []rules.FieldValue {
	paths := d.IgnoredPaths()
	if len(paths) == 0 {
		return nil
	}
	tree, err := decodeFields(live.fields)
	if err != nil {
		return nil
	}
	var out []rules.FieldValue
	for _, path := range paths {
		if !has(tree, fieldPath(path)) {
			continue
		}
		if value, found, err := unstructured.NestedFieldNoCopy(live.Object, path...); found && err == nil {
			out = append(out, rules.FieldValue{Path: path, Value: value})
		}
	}
	return out
}

// has reports whether a path is in a tree.
func has(tree map[string]any, path []string) bool {
	for _, key := range path {
		branch, ok := tree[key].(map[string]any)
		if !ok {
			return false
		}
		tree = branch
	}
	return true
}
