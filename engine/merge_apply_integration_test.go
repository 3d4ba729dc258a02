//go:build integration

package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/test/stories"
)

// mergeRules merge the template of a ConfigMap over another one of it.
const mergeRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: merge-NAMESPACE
  for: {apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE], selector: {matchLabels: {merge: "yes"}}}
  children:
  - id: out
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}-merged"}
      spec:
        selector: {matchLabels: {app: x}}
        template: ${mergeApply("v1/PodTemplateSpec", json.unmarshal(self.data.base), json.unmarshal(self.data.patch))}
`

// TestMergeApply compares the function with the applies of two managers.
func TestMergeApply(t *testing.T) {
	w := newWorld(t)
	w.run(mergeRules)
	for i, m := range stories.Merges {
		t.Run(m.Name, func(t *testing.T) {
			name := fmt.Sprintf("m%d", i)
			base, patch := toJSON(t, m.Base), toJSON(t, m.Patch)
			w.applyTemplate(t, name, "base", base)
			w.applyTemplate(t, name, "patch", patch)
			w.Create(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {merge: \"yes\"}}\ndata: {base: %q, patch: %q}\n", name, base, patch))
			want, _, _ := unstructured.NestedMap(w.Get(deployments, name).Object, "spec", "template")
			w.Has(deployments, name+"-merged", map[string]any{"spec.template": want})
		})
	}
}

func toJSON(t *testing.T, text string) string {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// applyTemplate applies the Pod template of a Deployment.
func (w *world) applyTemplate(t *testing.T, name, manager, template string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "x"}}, "template": json.RawMessage(template)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Resource(deployments).Patch(w.Context(), name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: new(true)}); err != nil {
		t.Fatal(err)
	}
}
