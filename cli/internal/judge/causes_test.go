package judge

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// TestOneCauseIsOneError checks that a mistake is reported once, at its position.
func TestOneCauseIsOneError(t *testing.T) {
	lets := "- name: web\n  for: {apiVersion: example.com/v1, kind: Web}\n  let:\n    l0: self.spec.image\n"
	for i := range 600 {
		lets += fmt.Sprintf("    l%d: l%d\n", i+1, i)
	}
	const conditions = "- name: web\n  for: {apiVersion: example.com/v1, kind: Web}\n  conditions: [{%s, when: \"true\"}]\n"
	for _, c := range []struct{ name, rule, want string }{
		{"a reserved condition", fmt.Sprintf(conditions, "type: Ready"), "type Ready is reserved"},
		{"a misspelt key", fmt.Sprintf(conditions, "typee: Up"), `unknown key "typee"`},
		{"too many lets", lets, "more than 500 named values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judgeWith(t, strings.Replace(webCRD, "conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
				`conditions: {type: array, items: {type: object, properties: {type: {type: string, pattern: "^[A-Z]"}}}}`, 1), c.rule)
			if len(v.Errors) != 1 || !strings.Contains(v.Errors[0].Message, c.want) || v.Errors[0].Pos.Line == 0 {
				t.Errorf("got %v, want one error with %q", v.Errors, c.want)
			}
		})
	}
}

func judgeWith(t *testing.T, definition, rule string) Result {
	t.Helper()
	var crd map[string]any
	if err := yaml.Unmarshal([]byte(definition), &crd); err != nil {
		t.Fatal(err)
	}
	set, err := schema.New(schema.Sources{CRDs: []map[string]any{crd}})
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + rule
	return Of(rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}}), set, Policy{})
}
