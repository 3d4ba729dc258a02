package reference

import (
	"strings"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
)

// TestExamplesAreValid checks the example of every CRD of the repository.
func TestExamplesAreValid(t *testing.T) {
	set, err := schema.New(schema.Sources{CRDs: definitions(t)})
	if err != nil {
		t.Fatal(err)
	}
	filled := 0
	for _, kind := range set.Kinds() {
		if !kind.Custom {
			continue
		}
		root := *set.Schema(kind.GVK)
		delete(root.Properties, "metadata") // It refers to Kubernetes' own schema.
		written, err := example(kind.GVK, &root)
		if err != nil {
			t.Fatal(err)
		}
		var resource map[string]any
		if err := yaml.Unmarshal([]byte(written), &resource); err != nil {
			t.Fatalf("%s: %v\n%s", kind.GVK, err, written)
		}
		for _, wrong := range validate.NewSchemaValidator(&root, nil, "", strfmt.Default).Validate(resource).Errors {
			t.Errorf("%s: %v\n%s", kind.GVK, wrong, written)
		}
		if fields, _ := resource["spec"].(map[string]any); len(fields) > 0 {
			filled++
		}
	}
	if filled < 10 {
		t.Errorf("only %d examples have fields", filled)
	}
}

func TestExamplesFollowTheLimits(t *testing.T) {
	for text, want := range map[string]string{
		"{type: string, enum: [b, a]}":                                   "b",
		"{type: array, items: {type: string, default: c, enum: [b, c]}}": "\n  - c",
		"{type: array, minItems: 2, items: {type: string}}":              "\n  - example\n  - example",
		"{type: string, pattern: '^[0-9]+h$'}":                           "1h",
		"{type: string, minLength: 9}":                                   "exampleaa",
		"{type: string, maxLength: 3}":                                   "a",
		"{type: string, format: date}":                                   `"2026-01-31"`,
		"{type: string, pattern: '^x{3}$'}":                              "must match ^x{3}$",
		"{type: integer}":                                                "1",
		"{type: integer, minimum: 3, exclusiveMinimum: true}":            "4",
		"{type: integer, multipleOf: 5, minimum: 7}":                     "10",
		"{type: integer, maximum: -2}":                                   "-2",
		"{type: number, multipleOf: 0.5}":                                "0.5",
		"{type: boolean}":                                                "true",
		"{type: array, items: {type: string}}":                           "\n  - example",
		"{type: object, additionalProperties: {type: integer}}":          "\n    key: 1",
		"{type: object, x-kubernetes-preserve-unknown-fields: true}":     "{}",
		"{x-kubernetes-int-or-string: true}":                             "1",
	} {
		root := schemaOf(t, "{required: [spec], properties: {spec: {required: [a], type: object, properties: {a: "+text+"}}}}")
		got, err := example(runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Kind"}, root)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ = strings.Cut(got, "spec:\n  a:"); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
