package sim_test

import (
	"encoding/json"
	"slices"
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
	cluster, err := sim.New(sim.Options{Kinds: gearsOf(t, gearDefinition)})
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
	cluster.Serve(gearsOf(t, strings.Replace(gearDefinition, "teeth: {type: integer, default: 8}", "size: {type: integer, default: 3}", 1)))
	if spec := apply("one", "b"); spec["teeth"] != nil || spec["size"] != int64(3) || spec["note"] != "b" {
		t.Errorf("the spec is %v, not that of the new schema", spec)
	}
}

// gearDefinition is a CRD of Gears.
const gearDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.example.com},
  spec: {group: example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {
    openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}, teeth: {type: integer, default: 8}}}}}}}]}}`

// gearsOf returns the kinds of a CRD.
func gearsOf(t *testing.T, definition string) *sim.Kinds {
	t.Helper()
	crds, err := parseAll(definition)
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

// TestReadsFollowTheSchema reads a custom resource that was not written after its schema changed. As on the API server,
// each read has the fields and the defaults of the schema of now, and what is stored stays.
func TestReadsFollowTheSchema(t *testing.T) {
	kinds := gearsOf(t, gearDefinition)
	cluster, err := sim.New(sim.Options{Kinds: kinds, History: 100})
	if err != nil {
		t.Fatal(err)
	}
	client := cluster.Client("user").Resource(gears).Namespace("default")
	made, err := client.Create(t.Context(), parse(t, "{apiVersion: example.com/v1, kind: Gear, metadata: {name: one}, spec: {note: a, teeth: 9}}"),
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kind := kinds.Resource(gears)
	reads := map[string]func() (*unstructured.Unstructured, error){
		"get": func() (*unstructured.Unstructured, error) { return client.Get(t.Context(), "one", metav1.GetOptions{}) },
		"list": func() (*unstructured.Unstructured, error) {
			list, err := client.List(t.Context(), metav1.ListOptions{})
			return &list.Items[0], err
		},
		"Objects": func() (*unstructured.Unstructured, error) {
			all, _, err := cluster.Objects("user", kind, "")
			return all[0], err
		},
		"Find": func() (*unstructured.Unstructured, error) {
			return cluster.Find(kind.GVK.GroupKind(), "default", "one"), nil
		},
		"All": func() (*unstructured.Unstructured, error) {
			all := cluster.All()
			return all[slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Gear" })], nil
		},
		"a change": func() (*unstructured.Unstructured, error) {
			changes := cluster.Changes(0)
			return cluster.Read(changes[len(changes)-1].New, kind.GVK), nil
		},
	}
	read := func(when, want string) {
		t.Helper()
		for how, read := range reads {
			u, err := read()
			if err != nil {
				t.Fatal(err)
			}
			spec, err := json.Marshal(u.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			if string(spec) != want || u.GetResourceVersion() != made.GetResourceVersion() {
				t.Errorf("%s: the spec by %s is %s at %s, want %s at %s", when, how, spec, u.GetResourceVersion(), want, made.GetResourceVersion())
			}
		}
	}
	read("at first", `{"note":"a","teeth":9}`)
	cluster.Serve(gearsOf(t, strings.Replace(gearDefinition, "teeth: {type: integer, default: 8}", "size: {type: integer, default: 3}", 1)))
	read("after a field has left", `{"note":"a","size":3}`)
	cluster.Serve(gearsOf(t, gearDefinition))
	read("after it is back", `{"note":"a","teeth":9}`)
}

var gears = runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gears"}
