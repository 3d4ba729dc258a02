package offline

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// applied returns what a child is like once it has been applied: of an object
// that exists, ignored fields stay as they are.
func applied(d *rules.Desired) (map[string]any, error) {
	if d.Live.Object == nil {
		return d.Whole()
	}
	content, err := d.Object()
	if err != nil {
		return nil, err
	}
	for _, path := range d.IgnoredPaths() {
		value, found, err := unstructured.NestedFieldCopy(d.Live.Object, path...)
		if err != nil || !found {
			continue // There is nothing to keep.
		}
		if err := unstructured.SetNestedField(content, value, path...); err != nil {
			return nil, err
		}
	}
	return content, nil
}
