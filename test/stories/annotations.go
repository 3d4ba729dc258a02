package stories

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// annotationRules copy a ConfigMap with its annotations once a Secret exists, and report in
// the annotation of the ConfigMap. Another rule for it does not ask for the report.
// NAMESPACE stands for the namespace of the story.
const annotationRules = rulesHead + copyRule + checkRule

const (
	rulesHead = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	copyRule  = `- name: copy-NAMESPACE
  for: {apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE], selector: {matchLabels: {reported: "yes"}}}
  report: annotation
  teardown: ordered
  lookups:
  - {id: source, apiVersion: v1, kind: Secret, name: "${self.data.source}"}
  children:
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${self.metadata.name}-copy
        annotations: ${self.metadata.?annotations.orValue({})}
      data: {value: "${source.data.value}"}
`
	checkRule = `- name: check-NAMESPACE
  for: {apiVersion: v1, kind: ConfigMap, namespaces: [NAMESPACE], selector: {matchExpressions: [{key: reported, operator: Exists}]}}
  validate:
  - {expression: '!has(self.data.wrong)', message: data.wrong must not be set}
  patch: {metadata: {labels: {checked: "yes"}}}
`
	elsewhereRule = "- name: elsewhere-NAMESPACE\n  for: {apiVersion: v1, kind: Service, namespaces: [NAMESPACE]}\n"
)

// tellAnnotations tells how a ConfigMap, which has no conditions, reports in its annotation:
// only while a rule asks for it, and only when something has changed.
func tellAnnotations(s *Stage) {
	s.Helper()
	maps, secrets := s.resource("", "v1", "configmaps"), s.resource("", "v1", "secrets")
	get := func(name string) *unstructured.Unstructured {
		s.Helper()
		u, err := maps.Get(s.Context, name, metav1.GetOptions{})
		if err != nil {
			s.Fatal(err)
		}
		return u
	}
	change := func(body map[string]any) {
		s.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := maps.Patch(s.Context, "app", types.MergePatchType, text,
			metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			s.Fatal(err)
		}
	}
	annotate := func(value any) {
		s.Helper()
		change(map[string]any{"metadata": map[string]any{"annotations": map[string]any{rules.AnnotationStatus: value}}})
	}
	label := func(value string) {
		s.Helper()
		change(map[string]any{"metadata": map[string]any{"labels": map[string]any{"reported": value}}})
	}
	says := func(what, want string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := maps.Get(s.Context, "app", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := u.GetAnnotations()[rules.AnnotationStatus]; got != want {
				return fmt.Errorf("the annotation is %s, want %s", got, want)
			}
			return nil
		})
	}
	copied := func(what, value string) {
		s.Helper()
		s.Eventually(what, func() error {
			u, err := maps.Get(s.Context, "app-copy", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "value"); got != value {
				return fmt.Errorf("the copy is %s", got)
			}
			if a := u.GetAnnotations(); a["note"] != "mine" || a[rules.AnnotationStatus] != "" {
				return fmt.Errorf("its annotations are %v", a)
			}
			return nil
		})
	}
	const ready = `{"ready":"True","reason":"Reconciled","message":"all children are up to date and ready"}`
	const invalid = `{"ready":"False","reason":"InvalidSpec","message":"data.wrong must not be set"}`

	_, err := maps.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "app", "labels": map[string]any{"reported": "yes"},
			"annotations": map[string]any{"note": "mine"}},
		"data": map[string]any{"source": "password"},
	}}, metav1.CreateOptions{FieldManager: "someone"})
	if err != nil {
		s.Fatal(err)
	}
	says("the ConfigMap to wait", strings.ReplaceAll(
		`{"ready":"False","reason":"Waiting","message":"rule \"copy-NAMESPACE\", child \"copy\": waits for Secret/NAMESPACE/password (source)"}`, "NAMESPACE", s.Namespace))
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "password"},
		"data": map[string]any{"value": "b25l"},
	}}
	if _, err := secrets.Create(s.Context, secret, metav1.CreateOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
	says("the ConfigMap to be ready", ready)
	copied("the copy to have the other annotations", "b25l")

	version := get("app").GetResourceVersion()
	s.Restart()
	secret.Object["data"] = map[string]any{"value": "dHdv"}
	if _, err := secrets.Update(s.Context, secret, metav1.UpdateOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
	copied("the copy to follow the Secret", "dHdv")
	says("the ConfigMap to stay ready", ready)
	if now := get("app").GetResourceVersion(); now != version {
		s.Errorf("the ConfigMap was written although nothing about it changed: %s, then %s", version, now)
	}

	change(map[string]any{"data": map[string]any{"wrong": "yes"}})
	says("another rule's trouble to be reported", invalid)
	change(map[string]any{"data": map[string]any{"wrong": nil}})
	says("the ConfigMap to be ready again", ready)
	annotate("mine")
	says("a changed annotation to be restored", ready)
	annotate(nil)
	says("a removed annotation to be restored", ready)

	label("no")
	says("a deselected ConfigMap to have no annotation", "")
	label("yes")
	says("a selected ConfigMap to have it again", ready)
	copied("its copy to be back", "dHdv")
	s.Reload(rulesHead + strings.Replace(copyRule, "  report: annotation\n", "", 1) + checkRule)
	says("a rule that no longer asks for it to remove it", "")
	for what, rest := range map[string]string{"beside another rule": checkRule,
		"with no rule for the kind": elsewhereRule} {
		s.Reload(annotationRules)
		says("a rule to ask for it again", ready)
		s.Reload(rulesHead + rest)
		says("a removed rule "+what+" to leave no annotation", "")
	}
	copied("a copy to stay without its rule", "dHdv")
}
