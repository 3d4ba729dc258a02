package reference

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	page := &Page{}
	page.describe(schemaOf(t, "{required: [spec], properties: {spec: {}}}"))
	if len(page.Fields) != 1 {
		t.Errorf("a spec without fields is left out: %v", page.Fields)
	}
	page = &Page{}
	page.describe(&spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{"spec": *root}}})
	got := map[Code][3]string{}
	for _, f := range page.Fields {
		got[f.Path] = [3]string{string(f.Type), string(f.Default), string(f.Limits)}
	}
	want := map[Code][3]string{
		"spec.size":             {"string", "`\"small\"`", "one of `\"small\"` or `\"large\"`"},
		"spec.port":             {"integer", "", "at least `1`; less than `65535`"},
		"spec.step":             {"number", "", "more than `0`; a multiple of `0.5`"},
		"spec.workers":          {"[]object", "**required**", "at least 1 element; one element for each `name`"},
		"spec.workers[].name":   {"string", "**required**", "at least 1 character"},
		"spec.workers[].args":   {"[]string", "", "at most 3 elements; each: at most 9 characters"},
		"spec.limits":           {"map[string]object", "", "at most 2 keys"},
		"spec.limits.<key>.cpu": {"intOrString", "", ""},
		"spec.groups":           {"map[string][][]boolean", "", ""},
		"spec.groups.<key>":     {"[][]boolean", "", ""},
		"spec.groups.<key>[]":   {"[]boolean", "", ""},
		`spec["a.b"]`:           {"string", "", "format `date-time`; may be `null`"},
		"spec.anything":         {"any", "", "may have any fields"},
		"spec.pod":              {"object", "", "may have any fields"},
		"spec.either":           {"object", "", "fits `{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\",\"c\"]}],\"not\":{\"required\":[\"d\"]}}`"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDescriptionsKeepTheirLists(t *testing.T) {
	got := prose("One *sentence*\nthat continues.\n\nAnother `field`:\n- a\n  goes on\n- b\n1. c\n")
	if want := Markdown("One \\*sentence\\* that continues.<br>Another `field`:<br>\\- a goes on<br>\\- b<br>1\\. c"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
