package stories

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// lookupRules read a Secret that a child names, and ConfigMaps of a list of names.
// NAMESPACE stands for the namespace of the story.
const lookupRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: lookups-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  lookups:
  - {id: connection, apiVersion: v1, kind: Secret, name: "${binding.data.secret}"}
  - {id: parts, apiVersion: v1, kind: ConfigMap, names: "${binding.data.parts.split(',')}"}
  children:
  - id: user
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-user"}
      data:
        user: "${string(base64.decode(connection.data.user))}"
        parts: "${parts.map(p, p.data.text).join(' ')}"
  - id: binding
    onChange: keep
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-binding"}
      data: {secret: "${self.spec.deploymentName}", parts: none}
`

// tellLookups tells how lookups follow what a child says.
func tellLookups(s *Stage) {
	s.Helper()
	maps, secrets := s.resource("", "v1", "configmaps"), s.resource("", "v1", "secrets")
	create := func(kind, name string, data map[string]any) {
		s.Helper()
		to := maps
		if kind == "Secret" {
			to = secrets
		}
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind,
			"metadata": map[string]any{"name": name}, "data": data}}
		if _, err := to.Create(s.Context, o, metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	bind := func(data map[string]any) {
		s.Helper()
		body, err := json.Marshal(map[string]any{"data": data})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := maps.Patch(s.Context, "db-binding", types.MergePatchType, body,
			metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			s.Fatal(err)
		}
	}
	becomes := func(what, user, parts string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := maps.Get(s.Context, "db-user", metav1.GetOptions{})
			if err != nil {
				return err
			}
			data, _, _ := unstructured.NestedStringMap(u.Object, "data")
			if data["user"] != user || data["parts"] != parts {
				return fmt.Errorf("the user is %q, the parts are %q", data["user"], data["parts"])
			}
			return nil
		})
	}
	create("Secret", "one", map[string]any{"user": "YQ=="})
	for name, text := range map[string]string{"x": "ex", "y": "why", "z": "zed"} {
		create("ConfigMap", name, map[string]any{"text": text})
	}
	_, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Create(s.Context,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "db"},
			"spec": map[string]any{"deploymentName": "one", "replicas": int64(1)},
		}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	becomes("what the child names", "a", "")
	bind(map[string]any{"parts": "z,x,missing,z"})
	becomes("the parts in the order of their names, each once", "a", "zed ex")
	bind(map[string]any{"secret": "two"})
	s.Eventually("the Foo to wait for another Secret", func() error {
		foo, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Get(s.Context, "db", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if text, err := foo.MarshalJSON(); err != nil || !strings.Contains(string(text), "connection") {
			return fmt.Errorf("it is %s", text)
		}
		return nil
	})
	create("Secret", "two", map[string]any{"user": "Yg=="})
	becomes("the user of the other Secret", "b", "zed ex")
	create("ConfigMap", "missing", map[string]any{"text": "here"})
	becomes("a part that exists now", "b", "zed ex here")
	if err := maps.Delete(s.Context, "x", metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	becomes("a part to be gone", "b", "zed here")
}
