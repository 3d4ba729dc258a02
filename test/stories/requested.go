package stories

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// requestedRules have a child that is applied, one that is kept as it was created, and one that follows the spec.
// NAMESPACE stands for the namespace of the story.
const requestedRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: requested-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: settings
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: settings}
      data: {mode: fast, annotations: "${string(size(self.metadata.?annotations.orValue({})))}"}
  - id: kept
    onChange: keep
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {mode: fast}}
  - id: size
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: size}, data: {replicas: "${string(self.spec.replicas)}"}}
  patch: {metadata: {labels: {mode: fast}}}
`

// tellRequested tells how a Foo asks to be reconciled now: a change of a child that field ownership does not show is
// repaired, once for each value of the annotation, and not again after a restart.
func tellRequested(s *Stage) {
	s.Helper()
	maps, foos := s.resource("", "v1", "configmaps"), s.resource("samplecontroller.k8s.io", "v1alpha1", "foos")
	get := func(name string) *unstructured.Unstructured {
		s.Helper()
		u, err := maps.Get(s.Context, name, metav1.GetOptions{})
		if err != nil {
			s.Fatal(err)
		}
		return u
	}
	// breaks changes a ConfigMap in the name of reconcel's own field manager, so that nothing shows another writer.
	breaks := func(name string) {
		s.Helper()
		u := get(name)
		u.SetManagedFields(nil)
		_ = unstructured.SetNestedField(u.Object, "slow", "data", "mode") // It is a map of strings.
		body, err := u.MarshalJSON()
		if err != nil {
			s.Fatal(err)
		}
		if _, err := maps.Patch(s.Context, name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: "reconcel", Force: new(true)}); err != nil {
			s.Fatal(err)
		}
	}
	change := func(body string) {
		s.Helper()
		if _, err := foos.Patch(s.Context, "app", types.MergePatchType, []byte(body),
			metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			s.Fatal(err)
		}
	}
	annotate := func(annotations string) {
		s.Helper()
		change(`{"metadata":{"annotations":{` + annotations + `}}}`)
	}
	becomes := func(what, name, field, value, request string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := maps.Get(s.Context, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			got, _, _ := unstructured.NestedString(u.Object, "data", field)
			if of := u.GetAnnotations()[rules.AnnotationReconciledAt]; got != value || of != request {
				return fmt.Errorf("%s is %q for the request %q, want %q for %q", field, got, of, value, request)
			}
			return nil
		})
	}
	// follows changes the spec, and waits until the controller has seen it and all that came before.
	follows := func(replicas, request string) {
		s.Helper()
		change(`{"spec":{"replicas":` + replicas + `}}`)
		becomes("a child to follow the spec", "size", "replicas", replicas, request)
	}
	foo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
		"metadata": map[string]any{"name": "app", "annotations": map[string]any{"note": "mine"}},
		"spec":     map[string]any{"deploymentName": "app", "replicas": int64(1)},
	}}
	if _, err := foos.Create(s.Context, foo, metav1.CreateOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
	becomes("the first child", "settings", "mode", "fast", "")
	becomes("the last child", "size", "replicas", "1", "")
	breaks("settings")
	breaks("kept")
	follows("2", "")
	becomes("a change that nothing shows to stay", "settings", "mode", "slow", "")

	annotate(`"reconcel.dev/reconcile-at":"2030-01-01T00:00:00Z"`)
	becomes("it to be repaired on request", "settings", "mode", "fast", "2030-01-01T00:00:00Z")
	becomes("rules not to see the request", "settings", "annotations", "1", "2030-01-01T00:00:00Z")
	becomes("other children to be applied", "size", "replicas", "2", "2030-01-01T00:00:00Z")
	becomes("a kept child to stay", "kept", "mode", "slow", "")
	breaks("settings")
	follows("3", "2030-01-01T00:00:00Z")
	becomes("the same request not to count again", "settings", "mode", "slow", "2030-01-01T00:00:00Z")

	before := get("settings").GetResourceVersion()
	s.Restart()
	follows("4", "2030-01-01T00:00:00Z")
	if now := get("settings").GetResourceVersion(); now != before {
		s.Errorf("after a restart, the same request was answered again: resourceVersion %s, then %s", before, now)
	}

	annotate(`"reconcel.dev/paused":"true","reconcel.dev/reconcile-at":"second"`)
	s.Eventually("the Foo to be paused", func() error {
		u, err := foos.Get(s.Context, "app", metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			if c.(map[string]any)["reason"] == "Paused" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
	becomes("a pause to stay a pause", "settings", "mode", "slow", "2030-01-01T00:00:00Z")
	annotate(`"reconcel.dev/paused":null`)
	becomes("the request to count after the pause", "settings", "mode", "fast", "second")
	becomes("all children to be applied after the pause", "size", "replicas", "4", "second")
}
