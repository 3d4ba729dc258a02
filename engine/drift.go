package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// carriesRendering reports whether this rendering was the last one applied.
func carriesRendering(o *watch.Object, d *rules.Desired) bool {
	var text [2 * len(d.Hash)]byte
	hex.Encode(text[:], d.Hash[:])
	return o.Applied() == string(text[:])
}

// drifted reports whether another writer changed our fields since our last write.
// It compares no values, so that defaulting causes no drift.
func drifted(d *rules.Desired, live *watch.Object, w *written) bool {
	if live.Fields() == (managedfields.Entry{}) || !carriesRendering(live, d) {
		return true
	}
	if w.uid != live.GetUID() && !recognise(d, live, w) {
		return true
	}
	if live.Fields() != w.fields && !onlyIgnored(d, live, w) && !(d.Child.Shared && recognise(d, live, w)) {
		return true // Of a shared object, another owner may have applied the same.
	}
	return secretDiffers(d, live, w)
}

// misplaced reports whether another writer may have changed the key of an element of a list that we
// applied. An apply would add ours beside it.
func misplaced(d *rules.Desired, live *watch.Object, w *written) bool {
	if !carriesRendering(live, d) || live.HasOrphanedFields() {
		return false
	}
	return w.uid != live.GetUID() || managedfields.LosesElements(w.fields, live.Fields())
}

// moved reports whether the index on an object of a sequence is not that of its rendering:
// the list of its child has changed.
func moved(d *rules.Desired, live *watch.Object) bool { return d.IndexMark() != live.IndexMark() }

// granular returns the granular fields of a child's kind, or nil.
func (p *pass) granular(gvk schema.GroupVersionKind) *managedfields.Granular {
	w := p.primary.children[gvk]
	if w == nil {
		return nil
	}
	c, err := w.Cache()
	if err != nil {
		return nil
	}
	return c.Granular()
}

// A checkedSchema is the schema by which our fields of an object were last checked.
type checkedSchema struct{ granular *managedfields.Granular } // nil: not yet; unread: it was not known

// unread stands for granular fields that are not known yet.
var unread = &managedfields.Granular{}

// predates reports whether our last apply owns a field as a whole that is granular now. An empty map is
// always owned in this way, so that it counts only if the schema has changed, or while the rendering is not
// known (nil).
func (c *checkedSchema) predates(g *managedfields.Granular, owned managedfields.Entry, rendering func() map[string]any) bool {
	if g == nil || g == c.granular {
		return false // Not known yet: this is asked again once it is.
	}
	whole := g.Whole(owned)
	if c.granular == nil && rendering != nil && len(whole) > 0 {
		whole = managedfields.Filled(whole, rendering())
	}
	if len(whole) == 0 {
		c.granular = g
	}
	return len(whole) > 0
}

// predatesSchema reports whether our last apply of an object has to be repeated, see checkedSchema.
func (p *pass) predatesSchema(d *rules.Desired, live *watch.Object, w *written) bool {
	return live != nil && w.schema.predates(p.granular(d.Identity.GVK), live.Fields(), func() map[string]any {
		desired, _ := d.Object() // Its error is told elsewhere.
		return desired
	})
}

// recognise compares an object that this process has not written with the
// rendering. If we own every field of the rendering, no writer has changed any, and
// the entry is the result of our last write.
func recognise(d *rules.Desired, live *watch.Object, w *written) bool {
	desired, err := d.Object()
	if err != nil || !live.Fields().Set().Covers(withoutIgnored(d, identifying(desired))) {
		return false
	}
	w.uid, w.fields, w.version = live.GetUID(), live.Fields(), live.GetResourceVersion()
	return true
}

// identifying returns the object without apiVersion, kind, name and namespace,
// which no field manager owns.
func identifying(desired map[string]any) map[string]any {
	rest := make(map[string]any, len(desired))
	for key, value := range desired {
		if key != "apiVersion" && key != "kind" {
			rest[key] = value
		}
	}
	if metadata, ok := desired["metadata"].(map[string]any); ok {
		owned := make(map[string]any, len(metadata))
		for key, value := range metadata {
			if key != "name" && key != "namespace" {
				owned[key] = value
			}
		}
		rest["metadata"] = owned
	}
	return rest
}

// secretDiffers compares the data of a Secret, because neither a change through stringData
// shows in field ownership nor a key that the rule no longer generates in the rendering. It
// runs once for each state of the object and each version of the rule.
func secretDiffers(d *rules.Desired, live *watch.Object, w *written) bool {
	if d.Identity.GVK.GroupKind() != secrets || w.checked == live.GetResourceVersion() && w.checkedFor == d.Child {
		return false
	}
	desired, err := d.Object()
	if err != nil {
		return true
	}
	want, _ := desired["data"].(map[string]any)
	have, _ := live.Content()["data"].(map[string]any)
	for key := range want {
		if !sameBytes(want[key], have[key]) {
			return true
		}
	}
	left, owned := d.IgnoredPaths(), live.Fields().Set()
	for key := range have {
		_, wanted := want[key]
		if !wanted && owned.Has("data", key) && !slices.ContainsFunc(left, func(path []string) bool { return reaches(path, "data", key) }) {
			return true
		}
	}
	w.checked, w.checkedFor = live.GetResourceVersion(), d.Child
	return false
}

// reaches reports whether a path leads to a field or to what contains it.
func reaches(path []string, field ...string) bool {
	return len(path) <= len(field) && slices.Equal(path, field[:len(path)])
}

// sameBytes compares two base64 values. A rendered value may have line breaks, which
// the API server removes.
func sameBytes(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	p, errA := base64.StdEncoding.DecodeString(x)
	q, errB := base64.StdEncoding.DecodeString(y)
	return errA == nil && errB == nil && bytes.Equal(p, q)
}

// Ignored fields are set when an object is created. After that they belong to
// whoever changes them. Drift detection skips them, and an update includes them
// only until another writer takes them over. An apply without a field that we alone
// own would reset that field.

// onlyIgnored reports whether only the ownership of ignored fields changed since our
// last write.
func onlyIgnored(d *rules.Desired, live *watch.Object, w *written) bool {
	paths := d.IgnoredPaths()
	if len(paths) == 0 || w.fields == (managedfields.Entry{}) {
		return false
	}
	if !w.fields.Set().Without(paths).Equals(live.Fields().Set().Without(paths)) {
		return false
	}
	w.fields = live.Fields() // Avoids the decoding next time.
	return true
}

// withoutIgnored removes the late fields of a rendering, and maps that are empty because an
// ignored field was left out: we never own such a map itself.
func withoutIgnored(d *rules.Desired, desired map[string]any) map[string]any {
	for _, path := range d.IgnoredPaths() {
		unstructured.RemoveNestedField(desired, path...) // A late field.
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
