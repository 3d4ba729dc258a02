package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/cli/playground"
)

// A valueRow is a row of the table of values in docs/reference/rules.md.
type valueRow struct{ example, kind, text, value string }

func readValueRows(t *testing.T) (rows []valueRow) {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Values\n")
	section, _, _ = strings.Cut(section, "\n### ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 5 || !strings.Contains(cells[1], "(") && !strings.Contains(cells[1], "self.") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		rows = append(rows, valueRow{cells[1], cells[2], cells[3], cells[4]})
	}
	if len(rows) < 15 {
		t.Fatalf("the table has only %d rows", len(rows))
	}
	return rows
}

// moreValues are rows that tell a reader of the reference nothing new.
var moreValues = []valueRow{
	{"self.spec.whole / self.spec.two", "double", "x-1.5", "1.5"},
	{"self.spec.numbers[0] / self.spec.two", "double", "x-0.5", "0.5"},
	{"self.spec.weights.a / self.spec.two", "double", "x-0.5", "0.5"},
	{"int(self.spec.whole)", "int", "x-3", "3"},
	{"self.spec.numbers", "list", "error", "[1,2.5]"},
	{"self.spec.?none", "optional_type", "error", "left out"},
}

const valuesCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valued.values.example.com}
spec:
  group: values.example.com
  scope: Namespaced
  names: {kind: Valued, listKind: ValuedList, plural: valued, singular: valued}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              string: {type: string}
              time: {type: string, format: date-time}
              bytes: {type: string, format: byte}
              integer: {type: integer}
              number: {type: number}
              whole: {type: number}
              two: {type: number, format: double}
              numbers: {type: array, items: {type: number}}
              weights: {type: object, additionalProperties: {type: number, format: float}}
              boolean: {type: boolean}
              port: {x-kubernetes-int-or-string: true}
              quantity: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^.*$"}
              array: {type: array, items: {type: integer}}
              object: {type: object, additionalProperties: {type: integer}}
              none: {type: string, nullable: true}
              absent: {type: string}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: frees.free.example.com}
spec:
  group: free.example.com
  scope: Namespaced
  names: {kind: Free, listKind: FreeList, plural: frees, singular: free}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
`

const valuesPrimary = `apiVersion: values.example.com/v1
kind: Valued
metadata: {name: a, namespace: default}
spec: {string: a, time: "2024-01-02T03:04:05Z", bytes: YQ==, integer: 3, number: 1500000.5, whole: 3, two: 2, numbers: [1, 2.5], weights: {a: 1}, boolean: true, port: 80, quantity: 1Gi, array: [1, 2], object: {a: 1}, none: null}
`

// valuesRules returns rules that render an example in a field of an object without a schema.
func valuesRules(field string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: values\n  for: {apiVersion: values.example.com/v1, kind: Valued}\n" +
		"  children:\n  - id: free\n    template:\n      apiVersion: free.example.com/v1\n      kind: Free\n      metadata: {name: free}\n      spec:\n        " + field + "\n"
}

// TestValuesAreTheSameEverywhere checks the table in the reference, and more, with every way to compute an
// expression. run renders with the code of test, against a cluster in memory.
func TestValuesAreTheSameEverywhere(t *testing.T) {
	for _, row := range slices.Concat(readValueRows(t), moreValues) {
		t.Run(row.example, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "crd.yaml", valuesCRD)
			write(t, "a.yaml", valuesPrimary)
			name := fmt.Sprintf("type(%s) == %s", row.example, row.kind)
			if got := strings.TrimSpace(command([]string{"eval", "type(dyn(" + row.example + ")) == " + row.kind, "-r", "a.yaml", "--crd", "crd.yaml"}).stdout); got != "true" {
				t.Errorf("%s: %s", name, got)
			}
			checkValue(t, "value: '${"+row.example+"}'", row.value)
			checkValue(t, "value: 'x-${"+row.example+"}'", row.text)
		})
	}
}

// checkValue renders a field in all ways. want is JSON, text, "left out" or "error".
func checkValue(t *testing.T, field, want string) {
	t.Helper()
	write(t, "rules.yaml", valuesRules(field))
	expected := map[string]any{}
	var value any
	switch {
	case want == "left out" || want == "error":
	case json.Unmarshal([]byte(want), &value) == nil:
		expected["value"] = value
	default:
		expected["value"] = want
	}
	p := playground.Project{Rules: []string{"rules.yaml"}, Resources: []string{"a.yaml"}, CRDs: []string{"crd.yaml"}, Files: map[string]string{
		"rules.yaml": valuesRules(field), "a.yaml": valuesPrimary, "crd.yaml": valuesCRD,
	}}
	rendered := command([]string{"render", "-f", "rules.yaml", "-r", "a.yaml", "--crd", "crd.yaml"}).stdout
	for how, text := range map[string]string{"render": rendered, "playground": respond(t, playground.Request{Part: playground.Render, Project: p}).Result} {
		var object struct{ Spec map[string]any }
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(object.Spec["value"]); got != fmt.Sprint(expected["value"]) || want == "error" && strings.Contains(text, "kind: Free") {
			t.Errorf("%s of %s: got %s, want %s", how, field, got, want)
		}
	}
	testValue(t, field, want, slices.Collect(maps.Values(expected)))
}

// testValue runs reconcel test with what the child should be.
func testValue(t *testing.T, field, want string, value []any) {
	t.Helper()
	object := map[string]any{"apiVersion": "free.example.com/v1", "kind": "Free", "metadata": map[string]any{"name": "free", "namespace": "default"}}
	then := map[string]any{"objects": []any{object}}
	switch {
	case want == "error":
		then = map[string]any{"absent": []any{"Free/free"}}
	case want == "left out":
		object["spec"] = map[string]any{"value": nil}
	case len(value) == 1:
		object["spec"] = map[string]any{"value": value[0]}
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(valuesPrimary), &given); err != nil {
		t.Fatal(err)
	}
	file, err := yaml.Marshal(map[string]any{"crds": "crd.yaml", "cases": []any{map[string]any{"name": "a", "given": given, "steps": []any{map[string]any{"then": then}}}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, "tests.yaml", string(file))
	out := command([]string{"test", "tests.yaml"})
	rejected := want == "error" && strings.Contains(out.stdout+out.stderr, "error: ")
	if !rejected && !strings.Contains(out.stdout, "ok ") {
		t.Errorf("test of %s: want %s\n%s%s", field, want, out.stdout, out.stderr)
	}
}
