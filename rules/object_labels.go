package rules

import "k8s.io/apimachinery/pkg/labels"

// Labels lets a selector read the labels of an object without a copy.
type Labels map[string]any

var _ labels.Labels = Labels(nil)

// LabelsOf returns the labels of an object without a copy.
func LabelsOf(object map[string]any) Labels {
	return mapAt(object, "metadata", "labels")
}

// Has reports whether the label exists.
func (l Labels) Has(key string) bool { _, ok := l[key]; return ok }

// Get returns the value of a label.
func (l Labels) Get(key string) string { s, _ := l[key].(string); return s }

// Lookup returns the value of a label, and whether it exists.
func (l Labels) Lookup(key string) (string, bool) { s, ok := l[key].(string); return s, ok }

// mapAt returns the map under the keys of an object, or nil.
func mapAt(object map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		object, _ = object[key].(map[string]any)
	}
	return object
}
