package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const soundCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: webs.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Web, plural: webs}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              tier: {type: string, enum: [dev, prod], default: dev}
              size: {type: integer, default: 1}
              port: {x-kubernetes-int-or-string: true}
              ratio: {type: number, default: 1}
              hosts: {type: array, items: {type: string, pattern: "^[a-z]+$"}}
              limits: {type: object, additionalProperties: {type: integer}}
`

// TestFlaws makes one mistake at a time in a sound CRD.
func TestFlaws(t *testing.T) {
	if found := Flaws(decode(t, soundCRD)); len(found) > 0 {
		t.Fatal(found)
	}
	for _, c := range []struct{ from, to, want string }{
		{"openAPIV3Schema:", "openapiV3Schema:", "spec.versions[0].schema.openapiV3Schema: unknown field (did you mean 'openAPIV3Schema'?)"},
		{"    schema:\n      openAPIV3Schema:", "    openAPIV3Schema:", "spec.versions[0]: has no schema.openAPIV3Schema"},
		{"size: {type: integer", "size: {type: int", `properties.size.type: "int" is not one of array, boolean, integer`},
		{"enum: [dev", "enums: [dev", "properties.tier.enums: unknown field (did you mean 'enum'?)"},
		{"served: true", "served: false", "spec.versions: none has served: true"},
		{"storage: true", "storage: false", "spec.versions: 0 versions have storage: true"},
		{"scope: Namespaced", "scope: namespaced", `spec.scope: "namespaced" is not Namespaced or Cluster`},
		{"name: webs.example.com", "name: web.example.com", "metadata.name: must be spec.names.plural and spec.group: webs.example.com"},
		{"default: 1}\n              port", "default: one}\n              port", "size.default: one is not of the type integer"},
		{"default: dev}", "default: 1}", "tier.default: 1 is not of the type string"},
		{"group: example.com", "group: example", `spec.group: "example" has no dot`},
		{"items: {type: string, pat", "items: {pat", "hosts.items: has no type"},
		{"{type: array, items: {type: string, pattern: \"^[a-z]+$\"}}", "{type: array}", "hosts: has no items"},
		{"default: dev", "default: Dev", "tier.default: Dev is not in the enum"},
		{"          spec:\n            type: object", "          spec:\n            type: object\n            required: [sise]", "spec.required[0]: there is no property \"sise\""},
		{"items: {type: string, pat", "items: {type: string, maxlength: 1, pat", "hosts.items.maxlength: unknown field (did you mean 'maxLength'?)"},
		{"^[a-z]+$", "^[a-z+$", "pattern: error parsing regexp"},
		{"limits: {type: object, additionalProperties: {type: integer}}", "limits: {type: object, additionalProperties: {type: int}}", "additionalProperties.type"},
		{"      openAPIV3Schema:\n        type: object", "      openAPIV3Schema:\n        type: array\n        items: {type: string}", "openAPIV3Schema.type: must be object"},
		{"  - name: v1\n", "  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n", "spec.versions[1].name: v1 is there twice"},
	} {
		if !strings.Contains(soundCRD, c.from) {
			t.Fatalf("the CRD has no %q", c.from)
		}
		found := fmt.Sprint(Flaws(decode(t, strings.Replace(soundCRD, c.from, c.to, 1))))
		if !strings.Contains(found, c.want) {
			t.Errorf("%s: want %q, got %q", c.to, c.want, found)
		}
	}
}

// TestFlawsOfExamples finds nothing in the CRDs of the examples.
func TestFlawsOfExamples(t *testing.T) {
	files, err := filepath.Glob("../../crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			if found := Flaws(decode(t, doc)); len(found) > 0 {
				t.Errorf("%s: %v", file, found)
			}
		}
	}
}
