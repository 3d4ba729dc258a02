package change_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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

// wanted returns what the dry run would write.
func (s *scene) wanted() string {
	var all []string
	for _, line := range s.dry.Lines() {
		all = append(all, fmt.Sprintf("%s %s %s", line.Action, line.Kind, strings.Join(line.Names, " ")))
	}
	return strings.Join(all, ", ")
}

// counted returns how many changes of a kind the dry run has counted.
func (s *scene) counted(kind string) (n int) {
	s.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.dry)
	families, err := registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if f.GetName() == "reconcel_dry_run_changes_total" && label.GetName() == "kind" && label.GetValue() == kind {
					n += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return n
}

// TestOtherRules has a dry run of new rules beside a controller with the old ones. It has the differences, each
// once, and no more of them however often the Foo is reconciled.
func TestOtherRules(t *testing.T) {
	s := newScene(t, noteRules, moreRules, 1)
	want := "created ConfigMap default/a-more, created Secret default/a, configured ConfigMap default/a"
	for _, name := range []string{"one", "two", "three"} {
		s.foo("a", name)
		if err := s.Advance(s.Context(), 20e9); err != nil {
			t.Fatal(err)
		}
		if got := s.wanted(); !strings.HasPrefix(got, want) {
			t.Errorf("it would write %q, want %q", got, want)
		}
	}
	// The value of the Secret is generated again each time, but the Secret is the same. Each of the three texts is in two
	// ConfigMaps. Of the first one, the controller creates the ConfigMap before or after the dry run sees it.
	if secrets, maps := s.counted("Secret"), s.counted("ConfigMap"); secrets != 1 || maps < 6 || maps > 8 {
		t.Errorf("%d changes of Secrets and %d of ConfigMaps are counted", secrets, maps)
	}
	if err := s.Reload(s.Context(), program(t, moreRules)); err != nil {
		t.Fatal(err)
	}
	if got := s.wanted(); got != "" {
		t.Errorf("after the controller has the new rules, it would write %q", got)
	}
	for _, w := range s.Writes() {
		if w.Err != nil {
			t.Errorf("%+v", w)
		}
	}
}
