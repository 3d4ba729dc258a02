package decide

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// CarriesRendering reports whether this rendering was the last one applied.
func CarriesRendering(o *watch.Object, d *rules.Desired) bool {
	var text [2 * len(d.Hash)]byte
	hex.Encode(text[:], d.Hash[:])
	return o.Applied() == string(text[:])
}

// Moved reports whether the index on an object of a sequence is not that of its rendering:
// the list of its child has changed.
func Moved(d *rules.Desired, live *watch.Object) bool { return d.IndexMark() != live.IndexMark() }

// A CheckedSchema is the schema that was used to check our fields of an object.
type CheckedSchema struct{ granular *managedfields.Granular } // nil: not yet; unread: it was not known

// unread stands for granular fields that are not known yet.
var unread = &managedfields.Granular{}

// Predates reports whether our last apply owns a field as a whole that is granular now. An empty map is
// always owned in this way, so that it counts only if the schema has changed, or while the rendering is not
// known (nil).
func (c *CheckedSchema) Predates(g *managedfields.Granular, owned managedfields.Entry,
	rendering func() map[string]any) bool {
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

// Identifying returns the object without apiVersion, kind, name and namespace,
// which no field manager owns.
func Identifying(desired map[string]any) map[string]any {
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

// Reaches reports whether a path leads to a field or to what contains it.
func Reaches(path []string, field ...string) bool {
	return len(path) <= len(field) && slices.Equal(path, field[:len(path)])
}

// SameBytes compares two base64 values. A rendered value may have line breaks, which
// the API server removes.
func SameBytes(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	p, errA := base64.StdEncoding.DecodeString(x)
	q, errB := base64.StdEncoding.DecodeString(y)
	return errA == nil && errB == nil && bytes.Equal(p, q)
}

// WithoutIgnored removes the late fields of a rendering, and maps that are empty because an
// ignored field was left out: we never own such a map itself.
func WithoutIgnored(d *rules.Desired, desired map[string]any) map[string]any {
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

// OwnedIgnored returns the ignored fields that we still own, with their values.
func OwnedIgnored(d *rules.Desired, live *watch.Object) []rules.FieldValue {
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

// A field of a custom kind may turn from atomic to granular. Until our next apply, our entry of
// managedFields has the whole field, and the API server does not change the entry when another writer
// changes what is in the field. And what that apply drops from the field has no owner, so that it stays.
// So each such object is applied once after the schema has changed, and what is left is removed.

// Divided returns the fields that were ours as a whole before an apply and that it may have divided. An empty
// map is owned in the same way before and after, and may have the defaults of its schema: it counts once for
// each schema.
func (c *CheckedSchema) Divided(g *managedfields.Granular, before, after managedfields.Entry) []fieldpath.Path {
	divided := managedfields.Divided(before, after)
	if g != c.granular {
		divided = append(divided, g.Whole(after)...)
	}
	c.granular = cmp.Or(g, unread)
	return divided
}

// RepairError returns the error of the patch that repairs an object.
func RepairError(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) && len(outcome.CausedFields(err)) == 0 {
		return ErrStale // A test of the patch failed: another writer changed the object.
	}
	return err
}
