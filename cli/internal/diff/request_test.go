package diff

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

// TestRequestIsNoDifference compares a resource that asks to be reconciled now, which no controller has answered. Only what another
// writer has changed differs, and nothing shows the request.
func TestRequestIsNoDifference(t *testing.T) {
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {primary: 'yes'}}}
  children:
  - {id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: one}}}
  - {id: d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {a: one}}}
  patch: {data: {a: one}}
`)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	w, err := world.New(world.Options{Program: loaded.Program, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "p", "namespace": "default", "labels": map[string]any{"primary": "yes"}}}}
	if _, err := w.Cluster().Put(u); err != nil {
		t.Fatal(err)
	}
	configMaps := w.Cluster().Client("editor").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	edit := func(name, body string) {
		t.Helper()
		if _, err := configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	settle := func() {
		t.Helper()
		if err := w.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	compare := func() string {
		t.Helper()
		r, err := Compare(t.Context(), Options{Selector: labels.Everything(), Installation: "kube-system/reconcel", Source: change.Source{
			Rules: loaded, Schemas: schema.Builtin(), Progress: output.StartProgress(&strings.Builder{}),
			Cluster: &cluster.Cluster{Kinds: world.KindsOf(kinds), Client: w.Cluster().Client("reviewer")}}})
		if err != nil || r.Broken {
			t.Fatalf("%v, %q", err, r.Notes)
		}
		var got []string
		for _, c := range r.Changes {
			if !c.Action.IsDifference() {
				continue
			}
			_, before, _ := unstructured.NestedMap(c.Before, "metadata", "annotations")
			_, after, _ := unstructured.NestedMap(c.After, "metadata", "annotations")
			if before || after {
				t.Errorf("%s shows annotations: %v, then %v", c.Object.Name, c.Before, c.After)
			}
			got = append(got, string(c.Action)+" "+c.Object.Name)
		}
		return strings.Join(got, ", ")
	}
	settle()
	edit("p", `{"metadata":{"annotations":{"reconcel.dev/reconcile-at":"first"}}}`)
	if got := compare(); got != "" {
		t.Errorf("a request that is not answered: %s", got)
	}
	settle()
	edit("p", `{"metadata":{"annotations":{"reconcel.dev/reconcile-at":"second"}}}`)
	edit("c", `{"data":{"a":"edited"}}`)
	if got := compare(); got != "configured c" {
		t.Errorf("a drift, and a request that is not answered: %q", got)
	}
}
