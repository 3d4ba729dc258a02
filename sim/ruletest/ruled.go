package ruletest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
)

// ruled returns the fields of an object that the controller has set, without its
// status, plus its kind, namespace and name.
func ruled(u *unstructured.Unstructured) map[string]any {
	set := managedfields.ChildEntry(u.Object).Set()
	for _, patch := range managedfields.PatchEntries(u.Object) {
		set = set.Union(patch.Set())
	}
	out := &unstructured.Unstructured{Object: set.Select(u.Object).(map[string]any)}
	out.SetAPIVersion(u.GetAPIVersion())
	out.SetKind(u.GetKind())
	if u.GetName() != "" {
		out.SetName(u.GetName())
	}
	if u.GetNamespace() != "" {
		out.SetNamespace(u.GetNamespace())
	}
	return out.Object
}
