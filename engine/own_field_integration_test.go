//go:build integration

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

const ownFieldRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: own-NAMESPACE
  for: {apiVersion: apps/v1, kind: ReplicaSet, namespaces: [NAMESPACE], selector: {matchLabels: {counted: "yes"}}}
  lookups: [{id: me, apiVersion: apps/v1, kind: ReplicaSet, name: "${self.metadata.name}"}]
  let: {before: "me.spec.template.spec.?tolerations.orValue([])"}
  patch:
    metadata: {labels: {extended: "yes"}}
    spec:
      minReadySeconds: '${self.spec.?minReadySeconds.orValue(0) < 100 ? 100 : self.spec.minReadySeconds}'
      template: {spec: {tolerations: '${before.exists(t, t.key == "ours") ? before : before + [{"key": "ours", "operator": "Exists"}]}'}}
`

// TestPatchUndoesNoWrite has another writer edit, extend and label ReplicaSets while a rule extends the same list, and
// raises the same number. Nothing that it writes is lost, in 200 tries: 25 with each ReplicaSet, as one that changes
// without end is written more and more slowly.
func TestPatchUndoesNoWrite(t *testing.T) {
	w := newWorld(t)
	w.run(ownFieldRules)
	all := w.Resource(replicaSets)
	is := func(u *unstructured.Unstructured) string {
		seconds, _, _ := unstructured.NestedInt64(u.Object, "spec", "minReadySeconds")
		list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "tolerations")
		var keys []string
		for _, item := range list {
			keys = append(keys, item.(map[string]any)["key"].(string))
		}
		slices.Sort(keys)
		return fmt.Sprint(seconds, keys, u.GetLabels()["try"], u.GetLabels()["extended"])
	}
	for of := range 8 {
		name := fmt.Sprint("web-", of)
		w.Create(strings.NewReplacer("replicas: 1", "replicas: 0", "name: web,", "name: "+name+",").Replace(replicaSet))
		w.label(replicaSets, name, "extended", "yes")
		for i := range 25 {
			key := fmt.Sprint("u", i)
			err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // As kubectl edit does.
				u, err := all.Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				list := []any{map[string]any{"key": key, "operator": "Exists"}}
				if err := unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "tolerations"); err != nil {
					return err
				}
				_, err = all.Update(t.Context(), u, metav1.UpdateOptions{})
				return err
			})
			if err == nil {
				_, err = all.Patch(t.Context(), name, types.JSONPatchType,
					[]byte(`[{"op":"add","path":"/spec/template/spec/tolerations/-","value":{"key":"late","operator":"Exists"}}]`), metav1.PatchOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			seconds := 8 * i // Below 100, the rule raises it.
			w.Patch(replicaSets, name, fmt.Sprintf(`{"spec":{"minReadySeconds":%d},"metadata":{"labels":{"try":"%d"}}}`, seconds, i))
			want := fmt.Sprint(max(seconds, 100), []string{"late", "ours", key}, fmt.Sprint(i), "yes")
			w.Eventually("nothing to be lost", func() error {
				if got := is(w.Get(replicaSets, name)); got != want {
					return fmt.Errorf("it is %s, want %s", got, want)
				}
				return nil
			})
		}
		w.Patch(replicaSets, name, `{"metadata":{"labels":{"counted":null}}}`)
		w.label(replicaSets, name, "extended", "")
		want := fmt.Sprint(192, []string{"late", "ours", "u24"}, "24", "")
		if got := is(w.Get(replicaSets, name)); got != want {
			t.Errorf("deselected, it is %s, want %s", got, want)
		}
	}
}

// TestPatchKeepsWhatItHasApplied turns constants into expressions that read their fields. The fields stay, also when the
// rule leaves the ReplicaSet.
func TestPatchKeepsWhatItHasApplied(t *testing.T) {
	w := newWorld(t)
	in := w.run(ownFieldRules[:strings.Index(ownFieldRules, "    spec:")] +
		"    spec: {minReadySeconds: 100, template: {spec: {tolerations: [{key: ours, operator: Exists}]}}}\n")
	w.Create(strings.Replace(replicaSet, "replicas: 1", "replicas: 0", 1))
	w.label(replicaSets, "web", "extended", "yes")
	in.stop()
	w.run(ownFieldRules)
	stays := func() error {
		u := w.Get(replicaSets, "web")
		seconds, _, _ := unstructured.NestedInt64(u.Object, "spec", "minReadySeconds")
		list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "tolerations")
		if seconds != 100 || len(list) != 1 {
			t.Fatalf("%d seconds, tolerations %v", seconds, list)
		}
		for _, entry := range u.GetManagedFields() {
			if strings.HasPrefix(entry.Manager, "reconcel/") && strings.Contains(entry.FieldsV1.GetRawString(), "f:spec") {
				return fmt.Errorf("%s owns %s", entry.Manager, entry.FieldsV1.GetRawString())
			}
		}
		return nil
	}
	w.Eventually("the fields to be given up", stays)
	w.label(replicaSets, "web", "extended", "yes")
	w.Patch(replicaSets, "web", `{"metadata":{"labels":{"counted":null}}}`)
	w.label(replicaSets, "web", "extended", "")
	if err := stays(); err != nil {
		t.Error(err)
	}
}
