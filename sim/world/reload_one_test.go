package world_test

import (
	"fmt"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// TestReloadOfOneRuleAmongMany changes one of many rules, each for a Foo of its own. Nothing
// is written for the Foos of the other rules.
func TestReloadOfOneRuleAmongMany(t *testing.T) {
	const number, changed = 64, 17
	ruled := func(value string) string {
		var text strings.Builder
		text.WriteString("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n")
		for i := range number {
			of := "old"
			if i == changed {
				of = value
			}
			fmt.Fprintf(&text, `- name: rule-%d
  for:
    apiVersion: samplecontroller.k8s.io/v1alpha1
    kind: Foo
    when: self.metadata.name == "foo-%[1]d"
  children:
  - id: settings
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings-%[1]d}, data: {value: %s}}
`, i, of)
		}
		return text.String()
	}
	w := load(t, ruled("old"))
	for i := range number {
		add(t, w, fmt.Sprintf(`{"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
			"metadata": {"name": "foo-%d", "namespace": "default"}, "spec": {"deploymentName": "web"}}`, i))
	}
	settle(t, w)
	before := len(w.Writes())
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(ruled("new"))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Reload(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, write := range w.Writes()[before:] {
		got = append(got, fmt.Sprintf("%s %s", write.Verb, write.Name))
	}
	if want := fmt.Sprintf("apply settings-%d", changed); strings.Join(got, ", ") != want {
		t.Errorf("the reload writes %q, want %q", got, want)
	}
}
