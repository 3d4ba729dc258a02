package world_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/access"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim/world"
)

// eventful has a kind with conditions and one without.
const eventful = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  validate:
  - {expression: self.spec.replicas < 5, message: too many}
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: value}}
- name: service
  for: {apiVersion: v1, kind: Service}
  children:
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`

// TestEventFilter plays the same story with each filter.
func TestEventFilter(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for filter, want := range map[access.EventFilter][]string{
		access.EventsAll: {
			"Foo Synced", "Service Synced", "Foo Repaired", "Foo Paused", "Foo Resumed", "Foo InvalidSpec", "Foo Recovered", "Foo Synced",
		},
		access.EventsChanges:  {"Service Synced", "Foo Repaired", "Foo InvalidSpec", "Foo Recovered"},
		access.EventsWarnings: {"Foo InvalidSpec"},
	} {
		t.Run(string(filter), func(t *testing.T) {
			w := eventfulWorld(t, filter)
			change := func(resource schema.GroupVersionResource, name, body string) {
				t.Helper()
				client := w.Cluster().Client("someone").Resource(resource).Namespace("default")
				if _, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				settle(t, w)
			}
			change(configMaps, "a", `{"data":{"key":"other"}}`)
			change(fooResource, "example-foo", `{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`)
			change(fooResource, "example-foo", `{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`)
			change(fooResource, "example-foo", `{"spec":{"replicas":7}}`)
			change(fooResource, "example-foo", `{"spec":{"replicas":3}}`)
			var got []string
			for _, e := range w.Cluster().Events() {
				got = append(got, e.About.Kind+" "+e.Reason)
			}
			if !slices.Equal(got, want) {
				t.Errorf("Events %q, want %q", got, want)
			}
		})
	}
}

// eventfulWorld has a Foo and a Service that are ready.
func eventfulWorld(t *testing.T, filter access.EventFilter) *world.World {
	t.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(eventful)}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(world.Options{Program: program, Kinds: exampleKinds(t), Events: filter})
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, "../../examples/foo/foo.yaml")
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "default"},
		"spec": map[string]any{"clusterIP": "None", "selector": map[string]any{"app": "web"}},
	}}
	if _, err := w.Cluster().Put(service); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	return w
}
