package offline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// content returns a child as an apply leaves it: ignored fields keep the values of an
// observed object.
func (r *rendering) content(d *rules.Desired) (map[string]any, error) {
	live := r.observed.byID[d.Identity]
	if live == nil {
		return d.Whole()
	}
	content, err := d.Object()
	if err != nil {
		return nil, err
	}
	for _, path := range d.IgnoredPaths() {
		value, found, err := unstructured.NestedFieldCopy(live.Unstructured.Object, path...)
		if err != nil || !found {
			continue // The live object does not have this field.
		}
		if err := unstructured.SetNestedField(content, value, path...); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// stored returns an object as it exists after it was created: with defaults, and with
// placeholders for what the API server would assign. Its status does not exist yet.
func (r *Renderer) stored(o *files.Object) (*files.Object, error) {
	u, err := r.server.Stored(&o.Unstructured)
	if err != nil {
		return nil, fmt.Errorf("the API server would reject it: %w", err)
	}
	out := &files.Object{Unstructured: *u, File: o.File}
	r.fillIdentity(out)
	return out, nil
}
