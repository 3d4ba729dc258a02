package e2e

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Events returns the Events about an object.
func (w *World) Events(kind, name string) (found []map[string]any) {
	w.Helper()
	list, err := w.Resource(GVK("events.k8s.io/v1", "Event")).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		about, _, _ := unstructured.NestedStringMap(list.Items[i].Object, "regarding")
		if about["kind"] == kind && about["name"] == name {
			found = append(found, list.Items[i].Object)
		}
	}
	return found
}

// EventReasons returns the reasons of the Events about an object.
func (w *World) EventReasons(kind, name string) (reasons []string) {
	w.Helper()
	for _, event := range w.Events(kind, name) {
		reason, _, _ := unstructured.NestedString(event, "reason")
		reasons = append(reasons, reason)
	}
	return reasons
}

// HasNote reports whether the note of an Event about an object contains a text. A
// condition's message may be truncated.
func (w *World) HasNote(kind, name, text string) bool {
	w.Helper()
	return slices.ContainsFunc(w.Events(kind, name), func(event map[string]any) bool {
		note, _, _ := unstructured.NestedString(event, "note")
		return strings.Contains(note, text)
	})
}
