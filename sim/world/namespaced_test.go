package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim/world"
)

// spreading is a rule with a ConfigMap in every namespace that a Foo names. The
// ConfigMaps contain the number of marked Secrets that the rule sees.
const spreading = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: spread
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  lookups: [{id: marked, apiVersion: v1, kind: Secret, namespace: "", selector: {matchLabels: {marked: "yes"}}}]
  children:
  - id: copies
    forEach: [{name: at, in: 'self.spec.deploymentName.split("-")'}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.namespace}-${self.metadata.name}", namespace: "${at}"}
      data: {marked: "${string(size(marked))}"}
  allow: {namespaces: ["*"], read: {namespaces: ["*"]}}
`

// TestSomeNamespaces restricts the world to two of three namespaces.
func TestSomeNamespaces(t *testing.T) {
	w, err := world.New(world.Options{Program: parsed(t, spreading), Kinds: exampleKinds(t), Namespaces: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	move := func(at string) {
		t.Helper()
		body := []byte(`{"spec":{"deploymentName":"` + at + `"}}`)
		foos := w.Cluster().Client("someone").Resource(fooKind.WithVersion("v1alpha1").GroupVersion().WithResource("foos"))
		if _, err := foos.Namespace("b").Patch(t.Context(), "f", types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	for _, namespace := range []string{"a", "b", "c"} {
		add(t, w, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"`+namespace+`","labels":{"marked":"yes"}}}`)
		add(t, w, `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"f","namespace":"`+namespace+`"},"spec":{"deploymentName":"a-b","replicas":1}}`)
	}
	settle(t, w)
	expect(t, w, "a/a-f=2 b/a-f=2 a/b-f=2 b/b-f=2")

	add(t, w, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"more","namespace":"b","labels":{"marked":"yes"}}}`)
	move("b-c") // An element that cannot be created keeps no removed one.
	expect(t, w, "a/a-f=3 b/a-f=3 b/b-f=3")
	if got := condition(w.Cluster().Find(fooKind, "b", "f"), "Stalled"); got != "True RuleError" {
		t.Errorf("a Foo with a ConfigMap elsewhere has Stalled %q", got)
	}
	move("b")
	expect(t, w, "a/a-f=3 b/a-f=3 b/b-f=3")

	before := len(w.Writes())
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if writes := w.Writes()[before:]; len(writes) > 0 {
		t.Errorf("a restart writes %v", writes)
	}
	for _, write := range w.Writes() {
		if write.Namespace == "c" {
			t.Errorf("outside it writes %+v", write)
		}
	}

	// The removal of the rule removes its finalizers and nothing else.
	move("a-b")
	if n := finalizers(w); n != 2 {
		t.Errorf("%d finalizers are set, want 2", n)
	}
	if err := w.Reload(t.Context(), parsed(t, ruled("other: x"))); err != nil {
		t.Fatal(err)
	}
	if n := finalizers(w); n != 0 {
		t.Errorf("%d finalizers are left", n)
	}
	expect(t, w, "a/a-f=3 b/a-f=3 a/b-f=3 b/b-f=3 a/other-0= b/other-0=")
}

// finalizers counts those of the Foos in the watched namespaces.
func finalizers(w *world.World) (n int) {
	for _, namespace := range []string{"a", "b"} {
		n += len(w.Cluster().Find(fooKind, namespace, "f").GetFinalizers())
	}
	return n
}

func parsed(t *testing.T, text string) *rules.Program {
	t.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func add(t *testing.T, w *world.World, text string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Cluster().Put(u); err != nil {
		t.Fatal(err)
	}
}

// expect compares all ConfigMaps with a list of namespace/name=marked.
func expect(t *testing.T, w *world.World, want string) {
	t.Helper()
	var got []string
	for _, u := range w.Objects() {
		if u.GroupVersionKind().GroupKind() == configMapKind {
			marked, _, _ := unstructured.NestedString(u.Object, "data", "marked")
			got = append(got, fmt.Sprintf("%s/%s=%s", u.GetNamespace(), u.GetName(), marked))
		}
	}
	slices.Sort(got)
	if list := strings.Join(got, " "); list != strings.Join(slices.Sorted(strings.FieldsSeq(want)), " ") {
		t.Errorf("there are %q, want %q", list, want)
	}
}
