//go:build integration

package campaign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// saw checks one version of a child: it has a single edition, and that is not older than
// the edition of the previous version.
func (w *world) saw(o *unstructured.Unstructured) {
	a, b := o.GetAnnotations()["a"], o.GetAnnotations()["b"]
	if a == "" && b == "" {
		return // Not a child of the campaign.
	}
	version, err := strconv.Atoi(a)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case a != b || err != nil:
		w.wrong = append(w.wrong, fmt.Sprintf("%s is of the editions %q and %q", o.GetName(), a, b))
	case version < w.versions[o.GetUID()]:
		w.wrong = append(w.wrong, fmt.Sprintf("%s is of edition %d again, after %d", o.GetName(), version, w.versions[o.GetUID()]))
	}
	w.versions[o.GetUID()] = version
}

// judge reports the errors that the watches have found.
func (w *world) judge() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Logf("%d children were seen in all their versions", len(w.versions))
	for _, what := range w.wrong {
		w.Error(what)
	}
}

// state returns the existing objects by name, without the parts that differ between
// objects of the same name.
func (w *world) state() map[string]string {
	w.Helper()
	state := map[string]string{}
	for _, resource := range []string{"configmaps", "serviceaccounts", "secrets", "items", "others"} {
		list, err := w.resource(resource).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			w.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if o.GetAnnotations()["a"] == "" && resource != "items" && resource != "others" {
				continue
			}
			text, err := json.MarshalIndent(canonical(o).Object, "", " ")
			if err != nil {
				w.Fatal(err)
			}
			state[resource+"/"+o.GetName()] = string(text)
		}
	}
	return state
}

// canonical removes the parts of an object that differ between objects of the same rules.
func canonical(o *unstructured.Unstructured) *unstructured.Unstructured {
	managed := ours(o)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = ""
	}
	if len(owners) > 0 {
		o.SetOwnerReferences(owners)
	}
	annotations := o.GetAnnotations()
	for name := range annotations {
		if strings.HasPrefix(name, "reconcel.dev/") {
			annotations[name] = "" // It depends on the owner's UID.
		}
	}
	if annotations != nil {
		o.SetAnnotations(annotations)
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		delete(c.(map[string]any), "lastTransitionTime")
		delete(c.(map[string]any), "observedGeneration")
	}
	if len(conditions) > 0 {
		_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions") // The status is a map, because it has conditions.
		unstructured.RemoveNestedField(o.Object, "status", "observedGeneration")
	}
	o.Object["managed"] = managed
	return o
}

// ours lists which fields of an object reconcel owns.
func ours(o *unstructured.Unstructured) []any {
	var all []any
	for _, m := range o.GetManagedFields() {
		if strings.HasPrefix(m.Manager, "reconcel") {
			fields := m.FieldsV1.String()
			for _, owner := range o.GetOwnerReferences() {
				fields = strings.ReplaceAll(fields, string(owner.UID), owner.Name)
			}
			all = append(all, fmt.Sprint(m.Manager, " ", m.Operation, " ", m.Subresource, " ", fields))
		}
	}
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return all
}
