package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// turningCRD is a CRD whose fields are atomic or granular. MAP, LIST and SET stand for that.
const turningCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: turnings.test.example.com}
spec:
  group: test.example.com
  scope: Namespaced
  names: {kind: Turning, listKind: TurningList, plural: turnings, singular: turning}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              data: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: MAP}
              object: {type: object, properties: {p: {type: string}, q: {type: string}}, x-kubernetes-map-type: MAP}
              list: {type: array, LIST, items: {type: object, required: [name], properties: {name: {type: string}, v: {type: string}}}}
              set: {type: array, SET, items: {type: string}}
              empty: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: MAP}
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, a/b: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: MAP}}}
`

var turning = runtimeschema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "Turning"}

func turningKinds(t *testing.T, edits ...string) *sim.Kinds {
	t.Helper()
	var crd map[string]any
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(edits...).Replace(turningCRD)), &crd); err != nil {
		t.Fatal(err)
	}
	set, err := schema.New(schema.Sources{CRDs: []map[string]any{crd}})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func turningObject(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{metadata: {name: one}, spec: "+spec+"}"), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(turning)
	return u
}

// TestFieldsTurnGranular applies an object with atomic fields, and again with fewer keys and items when its
// fields are granular.
func TestFieldsTurnGranular(t *testing.T) {
	atomic := turningKinds(t, "MAP", "atomic", "LIST", "x-kubernetes-list-type: atomic", "SET", "x-kubernetes-list-type: atomic")
	granular := turningKinds(t, "MAP", "granular", "LIST", "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]", "SET", "x-kubernetes-list-type: set")
	const all = `{data: {k1: "1", k2/x: "2"}, object: {p: "1", q: "2"}, list: [{name: a, v: "1"}, {name: b}, {name: c}], set: [a, b, c],
		empty: {k: "1"}, items: [{name: x}, {name: z, a/b: {k1: "1", k2: "2"}}]}`
	const fewer = `{data: {k1: "1"}, object: {p: "1"}, list: [{name: b}], set: [b], empty: {}, items: [{name: x}, {name: z, a/b: {k1: "1"}}]}`

	none := &unstructured.Unstructured{Object: map[string]any{}}
	none.SetGroupVersionKind(turning)
	before, err := atomic.Merge(none, turningObject(t, all), "", managedfields.Manager)
	if err != nil {
		t.Fatal(err)
	}
	// Another manager has added a key of its own since the change of the schema.
	theirs, err := granular.Merge(before, turningObject(t, `{data: {theirs: "1"}}`), "", "other")
	if err != nil {
		t.Fatal(err)
	}
	shape := discover.OwnershipOf(granular.Schemas(), turning).Granular
	whole := shape.Whole(managedfields.ChildEntry(theirs.Object))
	if got := fmt.Sprint(whole); len(whole) != 6 || !strings.Contains(got, `a/b`) {
		t.Errorf("owned as a whole are %s", got)
	}
	desired := turningObject(t, fewer)
	applied, err := granular.Merge(theirs, desired, "", managedfields.Manager)
	if err != nil {
		t.Fatal(err)
	}
	if keys, _, _ := unstructured.NestedMap(applied.Object, "spec", "data"); len(keys) != 3 {
		t.Fatalf("the apply alone removes what it drops: %v", keys)
	}
	applied.SetResourceVersion("1")
	divided := append(managedfields.Divided(managedfields.ChildEntry(theirs.Object), managedfields.ChildEntry(applied.Object)),
		shape.Whole(managedfields.ChildEntry(applied.Object))...)
	patch, err := managedfields.Repair{Live: applied, Desired: desired.Object, Manager: managedfields.Rendering, Divided: divided}.Patch()
	if err != nil || patch == nil {
		t.Fatalf("nothing is to be removed (%v)", err)
	}
	patched, err := sim.Patched(applied, types.JSONPatchType, patch)
	if err != nil {
		t.Fatal(err)
	}
	tracked, err := granular.Track(applied, patched, managedfields.Manager)
	if err != nil {
		t.Fatal(err)
	}
	repaired, err := granular.Merge(tracked, desired, "", managedfields.Manager)
	if err != nil {
		t.Fatal(err)
	}
	want := turningObject(t, strings.Replace(fewer, `{k1: "1"}, object`, `{k1: "1", theirs: "1"}, object`, 1))
	if got, want := fmt.Sprint(repaired.Object["spec"]), fmt.Sprint(want.Object["spec"]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, e := range repaired.GetManagedFields() {
		if !slices.Contains([]string{managedfields.Manager, "other"}, e.Manager) || e.Operation != "Apply" {
			t.Errorf("there is an entry of %s, %s: %s", e.Manager, e.Operation, e.FieldsV1.GetRawString())
		}
	}
	if again, err := (managedfields.Repair{Live: repaired, Desired: desired.Object, Manager: managedfields.Rendering, Divided: divided}).Patch(); again != nil || err != nil {
		t.Errorf("it is repaired again by %s (%v)", again, err)
	}
}
