package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

// TestExamplesAreValid checks the example of every CRD of the repository.
func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../../../crds/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d CRDs: %v", len(files), err)
	}
	filled := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		d, err := readDefinition(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range d.Spec.Versions {
			root := v.Schema.OpenAPIV3Schema
			written, err := example("example.com/v1", "Kind", root)
			if err != nil {
				t.Fatal(err)
			}
			var resource map[string]any
			if err := yaml.Unmarshal([]byte(written), &resource); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, written)
			}
			for _, wrong := range validate.NewSchemaValidator(root, nil, "", strfmt.Default).Validate(resource).Errors {
				t.Errorf("%s: %v\n%s", file, wrong, written)
			}
			if fields, _ := resource["spec"].(map[string]any); len(fields) > 0 {
				filled++
			}
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
		"{type: string, pattern: '^[0-9]+h$'}":                           "1h",
		"{type: string, minLength: 9}":                                   "exampleaa",
		"{type: string, maxLength: 3}":                                   "a",
		"{type: string, format: date}":                                   `"2026-01-31"`,
		"{type: string, pattern: '^x{3}$'}":                              `example # must match "^x{3}$"`,
		"{type: integer}":                                                "1",
		"{type: integer, minimum: 3, exclusiveMinimum: true}":            "4",
		"{type: integer, multipleOf: 5, minimum: 7}":                     "10",
		"{type: integer, maximum: -2}":                                   "-2",
		"{type: number, multipleOf: 0.5}":                                "0.5",
		"{type: boolean}":                                                "true",
		"{type: array, items: {type: string}}":                           "\n  - example",
		"{type: object, additionalProperties: {type: integer}}":          "\n    key: 1",
		"{type: object, x-kubernetes-preserve-unknown-fields: true}":     "{} # with any fields",
		"{x-kubernetes-preserve-unknown-fields: true}":                   "null # any value",
	} {
		root := schemaOf(t, "{required: [spec], properties: {spec: {required: [a], type: object, properties: {a: "+text+"}}}}")
		got, err := example("example.com/v1", "Kind", root)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ = strings.Cut(got, "spec:\n  a:"); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
