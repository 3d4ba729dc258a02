package reference

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// schemaOf reads a schema.
func schemaOf(t *testing.T, text string) *spec.Schema {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFieldsHaveTypesAndLimits(t *testing.T) {
	root := schemaOf(t, `
required: [workers, size]
properties:
  size: {type: string, default: small, enum: [small, large]}
  port: {type: integer, minimum: 1, maximum: 65535, exclusiveMaximum: true}
  step: {type: number, minimum: 0, exclusiveMinimum: true, multipleOf: 0.5}
  workers:
    type: array
    minItems: 1
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name]
      properties:
        name: {type: string, minLength: 1}
        args: {type: array, maxItems: 3, items: {type: string, maxLength: 9}}
  limits:
    type: object
    maxProperties: 2
    additionalProperties:
      type: object
      properties:
        cpu: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
  groups:
    type: object
    additionalProperties: {type: array, items: {type: array, items: {type: boolean}}}
  a.b: {type: string, format: date-time, nullable: true}
  anything: {x-kubernetes-preserve-unknown-fields: true}
  pod: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}
  either:
    type: object
    oneOf: [{required: [a]}, {required: [b, c]}]
    not: {required: [d]}
`)
	got := map[string][3]string{}
	for _, f := range fieldsOf("spec", root) {
		required := ""
		if f.required {
			required = "required"
		}
		got[f.path] = [3]string{typeOf(f.schema), required, shown(limitsOf(f.schema))}
	}
	want := map[string][3]string{
		"spec.size":             {"string", "", "one of `\"small\"` or `\"large\"`"},
		"spec.port":             {"integer", "", "at least `1`, less than `65535`"},
		"spec.step":             {"number", "", "more than `0`; a multiple of `0.5`"},
		"spec.workers":          {"list of objects", "required", "not empty; one element for each `name`"},
		"spec.workers[].name":   {"string", "required", "not empty"},
		"spec.workers[].args":   {"list of strings", "", "at most 3 elements; each: at most 9 characters"},
		"spec.limits":           {"map of objects", "", "at most 2 keys"},
		"spec.limits.<key>.cpu": {"integer or string", "", ""},
		"spec.groups":           {"map of lists of lists of booleans", "", ""},
		"spec.groups.<key>":     {"list of lists of booleans", "", ""},
		"spec.groups.<key>[]":   {"list of booleans", "", ""},
		`spec["a.b"]`:           {"string (date-time)", "", "may be `null`"},
		"spec.anything":         {"any value", "", "may have any fields"},
		"spec.pod":              {"Kubernetes object", "", "may have any fields"},
		"spec.either":           {"object", "", "exactly one of: `a` is set or `b` is set and `c` is set; not: `d` is set"},
	}
	for path, w := range want {
		if got[path] != w {
			t.Errorf("%s: got %q, want %q", path, got[path], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d fields, want %d: %v", len(got), len(want), got)
	}
}

func TestDescriptionsKeepTheirLists(t *testing.T) {
	got := shown(prose("One sentence\nthat continues.\n\nAnother `field`:\n- a\n  goes on\n- b\n1. c\n"))
	if want := "One sentence that continues.\nAnother `field`:\n- a goes on\n- b\n1. c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
