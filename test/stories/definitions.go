package stories

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// DefinitionsRules are two rules that share definitions. NAMESPACE stands for the namespace
// of the story.
const DefinitionsRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  registry: "'registry.example.com'"
  image(name string, replicas int): registry + '/' + name + ':' + tag(replicas)
  tag(replicas int): "replicas > 2 ? 'large' : 'small'"
  labels(app string, o dyn):
    app.kubernetes.io/name: ${app}
    team: ${o.metadata.?labels.?team}
rules:
- name: one-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: first
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-one", labels: "${labels('one', self)}"}
      data: {image: "${image('web', self.spec.replicas)}"}
- name: two-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: second
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-two", labels: "${labels('two', self)}"}
      data: {registry: "${registry}", image: "${image('db', size(self.spec.deploymentName))}"}
`

// tellDefinitions tells how two rules follow what their shared functions read of a Foo.
func tellDefinitions(s *Stage) {
	s.Helper()
	foos, maps := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos"), s.resource("", "v1", "configmaps")
	becomes := func(what, name string, data, labels map[string]string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := maps.Get(s.Context, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			got, _, _ := unstructured.NestedStringMap(u.Object, "data")
			for key, want := range data {
				if got[key] != want {
					return fmt.Errorf("the data of %s is %v", name, got)
				}
			}
			for key, want := range labels {
				if u.GetLabels()[key] != want {
					return fmt.Errorf("the labels of %s are %v", name, u.GetLabels())
				}
			}
			if _, found := u.GetLabels()["team"]; found && labels["team"] == "" {
				return fmt.Errorf("%s has a team", name)
			}
			return nil
		})
	}
	_, err := foos.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "shared"},
		"spec": map[string]any{"deploymentName": "abc", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	becomes("the first rule", "shared-one", map[string]string{"image": "registry.example.com/web:small"},
		map[string]string{"app.kubernetes.io/name": "one"})
	becomes("the second rule", "shared-two",
		map[string]string{"image": "registry.example.com/db:large", "registry": "registry.example.com"},
		map[string]string{"app.kubernetes.io/name": "two"})
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue"}},
		"spec": map[string]any{"replicas": 3, "deploymentName": "x"}})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := foos.Patch(s.Context, "shared", types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
	becomes("the first rule to follow", "shared-one", map[string]string{"image": "registry.example.com/web:large"},
		map[string]string{"team": "blue"})
	becomes("the second rule to follow", "shared-two", map[string]string{"image": "registry.example.com/db:small"},
		map[string]string{"team": "blue"})
}
