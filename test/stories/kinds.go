package stories

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
)

// kindsRules are one rule for several kinds: namespaced ones, one that is not served, and a
// cluster-scoped one. NAMESPACE stands for the namespace of the story.
const kindsRules = rulesHead + `- name: kinds-NAMESPACE
  for:
  - {apiVersion: apps/v1, kind: Deployment, namespaces: [NAMESPACE], selector: {matchLabels: {app: app}}}
` + statefulSets + `  - {apiVersion: missing.example.com/v1, kind: Missing}
  - {apiVersion: v1, kind: Namespace, when: self.metadata.name == "NAMESPACE"}
  report: annotation
  onRuleRemoval: delete
  patch: {metadata: {annotations: {kind: "${self.apiVersion} ${self.kind}"}}}
  children:
  - id: note
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${self.kind.lowerAscii()}"}
      data: {serviceName: "${self.?spec.?serviceName.orValue('none')}"}
`

const statefulSets = `  - {apiVersion: apps/v1, kind: StatefulSet, namespaces: [NAMESPACE], when: self.spec.serviceName != ""}
`

// tellKinds tells how one rule follows objects of several kinds, how one kind leaves the
// rule, and how two primaries of one name want the same child.
func tellKinds(s *Stage) {
	s.Helper()
	maps := s.resource("", "v1", "configmaps")
	primaries := map[string]dynamic.ResourceInterface{"deployment": s.resource("apps", "v1", "deployments"),
		"statefulset": s.resource("apps", "v1", "statefulsets")}
	create := func(kind string) {
		s.Helper()
		labels := map[string]any{"app": "app"}
		spec := map[string]any{"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "app"}}},
			}}
		if kind == "StatefulSet" {
			spec["serviceName"] = "app"
		}
		_, err := primaries[strings.ToLower(kind)].Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": "app", "labels": labels}, "spec": spec,
		}}, metav1.CreateOptions{FieldManager: "someone"})
		if err != nil {
			s.Fatal(err)
		}
	}
	note := func(name string) (*unstructured.Unstructured, error) {
		return maps.Get(s.Context, name, metav1.GetOptions{})
	}
	noted := func(what, name, want string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := note(name)
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "serviceName"); got != want {
				return fmt.Errorf("%s says %q, want %q", name, got, want)
			}
			return nil
		})
	}
	marked := func(what, kind, patch, report string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := primaries[kind].Get(s.Context, "app", metav1.GetOptions{})
			if err != nil {
				return err
			}
			a := u.GetAnnotations()
			if said := a[rules.AnnotationStatus]; a["kind"] != patch || !strings.Contains(said, report) ||
				report == "" && said != "" {
				return fmt.Errorf("the annotations are %v", a)
			}
			return nil
		})
	}
	create("Deployment")
	create("StatefulSet")
	noted("a Deployment to have its child", "app-deployment", "none")
	noted("a StatefulSet of the same name to have its own", "app-statefulset", "app")
	noted("a cluster-scoped primary to have one", s.Namespace+"-namespace", "none")
	marked("the Deployment to be marked", "deployment", "apps/v1 Deployment", `"ready":"True"`)
	marked("the StatefulSet to be marked", "statefulset", "apps/v1 StatefulSet", `"ready":"True"`)

	before, err := note("app-deployment")
	if err != nil {
		s.Fatal(err)
	}
	s.Reload(strings.Replace(kindsRules, statefulSets, "", 1))
	s.Eventually("the children of a kind that leaves the rule to go", func() error {
		if u, err := note("app-statefulset"); err == nil {
			return fmt.Errorf("there is %s", u.GetName())
		}
		return nil
	})
	marked("its marks to go, too", "statefulset", "", "")
	marked("those of the others to stay", "deployment", "apps/v1 Deployment", `"ready":"True"`)
	if now, err := note("app-deployment"); err != nil || now.GetResourceVersion() != before.GetResourceVersion() {
		s.Errorf("the child of another kind has changed: %v %v", now, err)
	}
	s.Reload(kindsRules)
	noted("a kind that comes back to have its child again", "app-statefulset", "app")
	marked("and its marks", "statefulset", "apps/v1 StatefulSet", `"ready":"True"`)

	s.Reload(strings.Replace(kindsRules, `${self.metadata.name}-${self.kind.lowerAscii()}`, `${self.metadata.name}-same`,
		1))
	s.Eventually("one of two primaries to have the child of one name", func() error {
		holders := 0
		for _, objects := range primaries {
			u, err := objects.Get(s.Context, "app", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if said := u.GetAnnotations()[rules.AnnotationStatus]; strings.Contains(said, `"ready":"True"`) {
				holders++
			} else if !strings.Contains(said, "ErrResourceExists") {
				return fmt.Errorf("%s reports %s", u.GetKind(), said)
			}
		}
		if holders != 1 {
			return fmt.Errorf("%d are ready", holders)
		}
		return nil
	})
}
