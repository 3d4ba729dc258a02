package offline

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// appliedContent returns a child as it is after the apply: ignored fields keep the values
// of the existing object.
func appliedContent(d *rules.Desired) (map[string]any, error) {
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
			continue // The live object does not have this field.
		}
		if err := unstructured.SetNestedField(content, value, path...); err != nil {
			return nil, err
		}
	}
	return content, nil
}
