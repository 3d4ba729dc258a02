package pretend_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const noteRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: note
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: note
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}"}
      data: {text: "${self.spec.deploymentName}"}
`

// moreRules write another text, have one more child, which needs the other one, and a Secret with a
// generated value.
var moreRules = strings.Replace(noteRules, "${self.spec.deploymentName}", "new ${self.spec.deploymentName}", 1) + `  - id: more
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-more"}
      data: {text: "${note.data.text}"}
  - id: password
    generate:
      password: {length: 24}
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}"}
`

var foos = runtimeschema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}

func (s *scene) foo(name, deployment string) {
	s.Helper()
	client := s.Cluster().Client("someone").Resource(foos).Namespace("default")
	foo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"deploymentName": deployment, "replicas": int64(1)},
	}}
	force := true
	body, err := foo.MarshalJSON()
	if err == nil {
		_, err = client.Patch(s.Context(), name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "someone", Force: &force})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.settle()
}

// outstanding returns what a shadow wants and the cluster does not have.
func (s *scene) outstanding() string {
	var all []string
	for _, line := range s.ledgers[0].Report().Changes {
		if line.Outstanding > 0 {
			all = append(all, fmt.Sprintf("%s %s %s", line.Action, line.Kind, strings.Join(line.Names, " ")))
		}
	}
	return strings.Join(all, ", ")
}

// TestOtherRules has a shadow of new rules beside a controller with the old ones. It wants the differences, each
// once, and no more of them however often the Foo is reconciled.
func TestOtherRules(t *testing.T) {
	s := newScene(t, noteRules, moreRules, 1)
	s.foo("a", "one")
	want := "created ConfigMap default/a-more, created Secret default/a, configured ConfigMap default/a"
	for _, name := range []string{"one", "two", "three"} {
		s.foo("a", name)
		if err := s.Advance(s.Context(), 20e9); err != nil {
			t.Fatal(err)
		}
		if got := s.outstanding(); !strings.HasPrefix(got, want) {
			t.Errorf("the shadow wants %q, want %q", got, want)
		}
	}
	for _, line := range s.ledgers[0].Report().Changes {
		// The text has changed twice since the first Foo, and each earlier one is withdrawn. The Secret is the
		// same each time, although its value is generated again.
		if line.Kind == "Secret" && line.Withdrawn > 0 || line.Kind == "ConfigMap" && line.Withdrawn > 2 {
			t.Errorf("counted again: %+v", line)
		}
	}
	if err := s.Reload(s.Context(), program(t, moreRules)); err != nil {
		t.Fatal(err)
	}
	if got := s.outstanding(); got != "" {
		t.Errorf("after the controller has the new rules, the shadow wants %q", got)
	}
	for _, w := range s.Writes() {
		if w.Err != nil {
			t.Errorf("%+v", w)
		}
	}
}
