package sim_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules/schema"
	"reconcel/sim"
)

// TestAFieldLeavesTheSchema applies a custom resource again, after its schema has lost a field that it has. As on the API
// server, the field is gone.
func TestAFieldLeavesTheSchema(t *testing.T) {
	const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.example.com},
  spec: {group: example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {
    openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}, teeth: {type: integer, default: 8}}}}}}}]}}`
	serve := func(text string) *sim.Kinds {
		crds, err := parseAll(text)
		if err != nil {
			t.Fatal(err)
		}
		set, err := schema.New(schema.Sources{CRDs: []map[string]any{crds[0].Object}})
		if err != nil {
			t.Fatal(err)
		}
		kinds, err := sim.NewKinds(set)
		if err != nil {
			t.Fatal(err)
		}
		return kinds
	}
	cluster, err := sim.New(sim.Options{Kinds: serve(definition)})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(manager, note string) map[string]any {
		t.Helper()
		gear := map[string]any{"apiVersion": "example.com/v1", "kind": "Gear", "metadata": map[string]any{"name": "one"}, "spec": map[string]any{"note": note}}
		body, err := json.Marshal(gear)
		if err != nil {
			t.Fatal(err)
		}
		u, err := cluster.Client("user").Resource(gears).Namespace("default").
			Patch(t.Context(), "one", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager})
		if err != nil {
			t.Fatal(err)
		}
		spec, _, _ := unstructured.NestedMap(u.Object, "spec")
		return spec
	}
	if spec := apply("one", "a"); spec["teeth"] != int64(8) {
		t.Errorf("the spec is %v, without the default", spec)
	}
	cluster.Serve(serve(strings.Replace(definition, "teeth: {type: integer, default: 8}", "size: {type: integer, default: 3}", 1)))
	if spec := apply("one", "b"); spec["teeth"] != nil || spec["size"] != int64(3) || spec["note"] != "b" {
		t.Errorf("the spec is %v, not that of the new schema", spec)
	}
}

var gears = runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gears"}
