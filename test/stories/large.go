package stories

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// largeRules give each Foo more ConfigMaps than its children may have together by default.
// NAMESPACE stands for the namespace of the story.
const largeRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: large-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: many
    forEach: {n: 'lists.range(self.spec.deploymentName == "more" ? 601 : 600)'}
    maxObjects: 600
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "many-${n}"}
      data: {of: "${self.spec.deploymentName}"}
  - id: others
    forEach: {n: lists.range(501)}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "other-${n}"}
  status:
    availableReplicas: ${size(existing(many))}
`

// tellLarge tells that a child has as many objects as its rule allows, and a child without
// such a limit as many as before.
func tellLarge(s *Stage) {
	s.Helper()
	foos, configMaps := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos"), s.resource("", "v1", "configmaps")
	foo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "large"},
		"spec": map[string]any{"deploymentName": "one", "replicas": int64(1)},
	}}
	if _, err := foos.Create(s.Context, foo, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	// has waits until the status counts the ConfigMaps, and a condition names an error.
	has := func(count int64, message string) {
		s.Helper()
		s.Eventually(fmt.Sprintf("%d ConfigMaps and %q", count, message), func() error {
			u, err := foos.Get(s.Context, "large", metav1.GetOptions{})
			if err != nil {
				return err
			}
			got, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
			conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
			if text := fmt.Sprint(conditions); got != count || !strings.Contains(text, message) {
				return fmt.Errorf("there are %d: %s", got, text)
			}
			return nil
		})
		list, err := configMaps.List(s.Context, metav1.ListOptions{LabelSelector: "reconcel.dev/child in (many, others)"})
		if err != nil || len(list.Items) != 600 {
			s.Errorf("%v, there are %d ConfigMaps, want 600", err, len(list.Items))
		}
	}
	has(600, "more than 500 objects for one resource")
	if _, err := foos.Patch(s.Context, "large", types.MergePatchType, []byte(`{"spec":{"deploymentName":"more"}}`),
		metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
	has(600, "would make more than 600 elements")
}
