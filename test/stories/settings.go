package stories

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// settingsRules read YAML in a ConfigMap, and write a sum of memory and a URL with a
// password. NAMESPACE stands for the namespace of the story.
const settingsRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: settings-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${self.spec.deploymentName}"}
  let:
    config: yaml.unmarshal(settings.data.config)
  children:
  - id: quota
    template:
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: "${self.metadata.name}"}
      spec:
        hard: {limits.memory: "${string(config.workers.map(w, quantity(w.memory)).sum())}"}
  - id: connection
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}-connection"}
      stringData:
        url: postgres://app:${url.escape(config.password)}@${regex.extract(config.host, "^[a-z]+").orValue("db")}/app
`

// tellSettings tells how children follow settings in YAML, and stay while these are not
// YAML.
func tellSettings(s *Stage) {
	s.Helper()
	maps, foos := s.resource("", "v1", "configmaps"), s.resource("samplecontroller.k8s.io", "v1alpha1", "foos")
	settings := func(config string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"},
			"data": map[string]any{"config": config},
		}}
	}
	update := func(config string) {
		s.Helper()
		if _, err := maps.Update(s.Context, settings(config), metav1.UpdateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	becomes := func(what, memory, url string) {
		s.Helper()
		s.Eventually(what, func() error {
			quota, err := s.resource("", "v1", "resourcequotas").Get(s.Context, "db", metav1.GetOptions{})
			if err != nil {
				return err
			}
			secret, err := s.resource("", "v1", "secrets").Get(s.Context, "db-connection", metav1.GetOptions{})
			if err != nil {
				return err
			}
			gotMemory, _, _ := unstructured.NestedString(quota.Object, "spec", "hard", "limits.memory")
			gotURL, _, _ := unstructured.NestedString(secret.Object, "data", "url")
			if gotMemory != memory || gotURL != url {
				return fmt.Errorf("memory is %s, the URL is %s", gotMemory, gotURL)
			}
			return nil
		})
	}
	says := func(what, text string) {
		s.Helper()
		s.Eventually(what, func() error {
			foo, err := foos.Get(s.Context, "db", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, err := foo.MarshalJSON(); err != nil || !strings.Contains(string(got), text) {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	}
	if _, err := maps.Create(s.Context, settings(
		"host: pg-7\npassword: p@ss/w\nworkers:\n- memory: 1Gi\n- memory: 512Mi\n"), metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	_, err := foos.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "db"},
		"spec": map[string]any{"deploymentName": "settings", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	const url = "cG9zdGdyZXM6Ly9hcHA6cCU0MHNzJTJGd0BwZy9hcHA=" // postgres://app:p%40ss%2Fw@pg/app
	becomes("the sum of the memory", "1536Mi", url)
	update("host: pg-7\npassword: 'p@ss/w\nworkers: []\n")
	says("the Foo to name the line", "line 2 of the text is not valid YAML")
	becomes("the children to stay", "1536Mi", url)
	update("host: pg-7\npassword: p@ss/w\nworkers: [{memory: 1536Mi}, {memory: 512Mi}]\n")
	becomes("another sum", "2Gi", url)
}
