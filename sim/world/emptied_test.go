package world_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestEmptiedMapThatAnotherWriterMade has a resource whose map another writer created without keys. The rule adds a key to it, and
// removes it later: the map is empty again, and the resource is ready.
func TestEmptiedMapThatAnotherWriterMade(t *testing.T) {
	w := newBriefWorld(t, emptiable, "- name: other\n  for: {apiVersion: v1, kind: Pod}\n  patch: {metadata: {labels: {a: b}}}\n")
	become := func(spec string) {
		t.Helper()
		if _, err := w.things.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	become(`{"mode":"full","data":{}}`)
	err := w.RestartWith(t.Context(), briefRules(t, `- name: one
  for: {apiVersion: example.com/v1, kind: Thing}
  patch: {spec: {data: '${self.spec.?mode.orValue("full") == "full" ? {"k": "v"} : {}}'}}
`))
	if err != nil {
		t.Fatal(err)
	}
	data := func() any {
		spec, _ := w.Cluster().Find(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "default", "one").Object["spec"].(map[string]any)
		return spec["data"]
	}
	if got, _ := data().(map[string]any); got["k"] != "v" {
		t.Fatalf("data is %v", got)
	}
	become(`{"mode":"empty"}`)
	settle(t, w.World)
	one := w.Cluster().Find(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "default", "one")
	if got, isMap := data().(map[string]any); !isMap || len(got) > 0 {
		t.Errorf("data is %v, Ready is %s: %s", got, condition(one, "Ready"), message(one.Object, "Ready"))
	}
	if got := condition(one, "Ready"); got != "True Reconciled" {
		t.Errorf("Ready is %s: %s", got, message(one.Object, "Ready"))
	}
}
