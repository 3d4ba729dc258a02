package cli

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/judge"
	"reconcel/rules"
	"reconcel/rules/crd"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// TestConditionsBlockMakesConditions pastes the block into a CRD without conditions. The
// result has conditions as a keyed list, so that each entry has its own field owner.
func TestConditionsBlockMakesConditions(t *testing.T) {
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.web.acme.io}
spec:
  group: web.acme.io
  scope: Namespaced
  names: {kind: Website, plural: websites}
  versions:
  - name: v1
    served: true
    storage: true
` + crd.Conditions
	var defined map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &defined); err != nil {
		t.Fatal(err)
	}
	set, err := schema.New(schema.Sources{CRDs: []map[string]any{defined}})
	if err != nil {
		t.Fatal(err)
	}
	sources := []source.File{{Name: "rules.yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" +
		"- {name: website, for: {apiVersion: web.acme.io/v1, kind: Website}, conditions: [{type: Open, when: 'true', reason: Open, message: open}]}\n")}}
	if found := judge.Of(rules.Compile(sources), set, judge.Policy{}); len(found.Errors)+len(found.Warnings) > 0 {
		t.Errorf("errors %v, warnings %v", found.Errors, found.Warnings)
	}
	doc, err := os.ReadFile("../docs/how-to/crd.md")
	if err != nil || !strings.Contains(string(doc), crd.Conditions) {
		t.Errorf("docs/how-to/crd.md does not have the block: %v", err)
	}
}
