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
		{"    schema:\n      openAPIV3Schema:", "    openAPIV3Schema:", "spec.versions[0].schema.openAPIV3Schema: Required value"},
		{"size: {type: integer", "size: {type: int", `properties.size.type: "int" is not one of array, boolean, integer`},
		{"enum: [dev", "enums: [dev", "properties.tier.enums: unknown field (did you mean 'enum'?)"},
		{"served: true", "served: false", "spec.versions: none has served: true"},
		{"storage: true", "storage: false", "spec.versions: must have exactly one version marked as storage version"},
		{"scope: Namespaced", "scope: namespaced", `spec.scope: Unsupported value: "namespaced": supported values: "Cluster", "Namespaced"`},
		{"name: webs.example.com", "name: web.example.com", `metadata.name: Invalid value: "web.example.com": must be spec.names.plural+"."+spec.group`},
		{"default: 1}\n              port", "default: one}\n              port", `size.default: Invalid value: "string":  in body must be of type integer: "string"`},
		{"default: dev}", "default: 1}", `tier.default: Invalid value: "integer":  in body must be of type string: "integer"`},
		{"group: example.com", "group: example", `spec.group: Invalid value: "example": should be a domain with at least one dot`},
		{"items: {type: string, pat", "items: {pat", "hosts.items.type: Required value: must not be empty for specified array items"},
		{"{type: array, items: {type: string, pattern: \"^[a-z]+$\"}}", "{type: array}", "hosts.items: Required value: must be specified"},
		{"default: dev", "default: Dev", `tier.default: Unsupported value: "Dev": supported values: "dev", "prod"`},
		{"          spec:\n            type: object", "          spec:\n            type: object\n            required: [sise]", "spec.required[0]: there is no property \"sise\""},
		{"items: {type: string, pat", "items: {type: string, maxlength: 1, pat", "hosts.items.maxlength: unknown field (did you mean 'maxLength'?)"},
		{"^[a-z]+$", "^[a-z+$", `pattern: Invalid value: "^[a-z+$": must be a valid regular expression, but isn't: error parsing regexp`},
		{"limits: {type: object, additionalProperties: {type: integer}}", "limits: {type: object, additionalProperties: {type: int}}", "additionalProperties.type"},
		{"      openAPIV3Schema:\n        type: object", "      openAPIV3Schema:\n        type: array\n        items: {type: string}", `openAPIV3Schema.type: Invalid value: "array": must be object at the root`},
		{"plural: webs}", "plural: webs, listKind: Web}", `spec.names.listKind: Invalid value: "Web": kind and listKind may not be the same`},
		{"plural: webs}", "plural: webs, shortNames: [W]}", `spec.names.shortNames[0]: Invalid value: "W": a DNS-1035 label must consist of lower case`},
		{"name: v1", "name: \"1.0\"", `[spec.versions[0].name: Invalid value: "1.0": a DNS-1035 label must consist of lower case`},
		{"    schema:", "    additionalPrinterColumns: [{name: A, type: text, jsonPath: .a}]\n    schema:", `spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string`},
		{"    schema:", "    additionalPrinterColumns: [{name: A, type: string, jsonPath: \"{.a}\"}]\n    schema:", `spec.versions[0].additionalPrinterColumns[0].jsonPath: Invalid value: "{.a}": must be a simple json path starting with .`},
		{"{status: {}}", "{status: {}, scale: {specReplicasPath: .spec.sise, statusReplicasPath: .status.a}}", "scale.specReplicasPath: there is no field .spec.sise"},
		{"{status: {}}", "{status: {}, scale: {specReplicasPath: .spec.a, statusReplicasPath: .spec.a}}", `spec.versions[0].subresources.scale.statusReplicasPath: Invalid value: ".spec.a": should be a json path under .status`},
		{"        type: object\n", "        type: object\n        oneOf: [{required: [spec]}]\n", "openAPIV3Schema.oneOf: is not allowed at the root"},
		{"        properties:\n          spec", "        properties:\n          metadata: {type: object, properties: {labels: {type: object}}}\n          spec", "properties.metadata: Forbidden: must not specify anything other than name and generateName"},
		{"  - name: v1\n", "  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n", "spec.versions: must contain unique version names"},
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

// object is the schema of an element.
const object = `type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}`

// fieldFlaws are schemas of a field, with the flaw that is found, or "".
var fieldFlaws = map[string]string{
	`type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {` + object + `}`:              "",
	`type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {` + object + `}`:              "list-map-keys[0]: port must be required, or have a default",
	`type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [title], items: {` + object + `}`:             `list-map-keys[0]: the elements have no property "title"`,
	`type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, name], items: {` + object + `}`:        "list-map-keys[1]: name is there twice",
	`type: array, x-kubernetes-list-type: map, items: {` + object + `}`:                                                  "has no x-kubernetes-list-map-keys",
	`type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: string}`:                "a list of the type map has maps as elements",
	`type: array, x-kubernetes-list-map-keys: [name], items: {` + object + `}`:                                           "needs x-kubernetes-list-type: map",
	`type: array, x-kubernetes-list-type: set, items: {type: string}`:                                                    "",
	`type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}`:                                    "items.nullable: is not allowed in a list of the type set",
	`type: array, x-kubernetes-list-type: set, items: {` + object + `}`:                                                  "a set has no maps as elements",
	`type: array, x-kubernetes-list-type: set, items: {x-kubernetes-map-type: atomic, ` + object + `}`:                   "",
	`type: array, x-kubernetes-list-type: set, items: {type: array, x-kubernetes-list-type: set, items: {type: string}}`: "must be atomic in a set",
	`type: array, x-kubernetes-list-type: sets, items: {type: string}`:                                                   `"sets" is not one of atomic, set, map`,
	`type: string, x-kubernetes-list-type: set`:                                                                          "x-kubernetes-list-type: needs type: array",
	`type: object, x-kubernetes-map-type: granular, additionalProperties: {type: string}`:                                "",
	`type: object, x-kubernetes-map-type: merge, additionalProperties: {type: string}`:                                   `"merge" is not one of atomic, granular`,
	`type: object, additionalProperties: {type: string}, properties: {a: {type: string}}`:                                "excludes properties",
	`type: array, uniqueItems: true, items: {type: string}`:                                                              "write x-kubernetes-list-type: set",
	`type: array, items: [{type: string}]`:                                                                               "items: must be one schema",
	`type: "null"`:                                                                                                       "write nullable: true",
	`type: string, $ref: "#/definitions/a"`:                                                                              `["$ref"]: is not supported`,
	`type: object, x-kubernetes-preserve-unknown-fields: false`:                                                          "must be left out",
	`x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]`:                                         "",
	`x-kubernetes-int-or-string: true, allOf: [{anyOf: [{type: integer}, {type: string}]}, {pattern: "a"}]`:              "",
	`type: string, anyOf: [{format: ipv4}, {format: ipv6}]`:                                                              "",
	`anyOf: [{type: boolean}, {type: string}]`:                                                                           "f.type: Required value: must not be empty for specified object fields",
	`type: string, oneOf: [{type: string, minLength: 1}]`:                                                                "oneOf[0].type: Forbidden: must be empty to be structural",
	object + `, oneOf: [{required: [port]}, {properties: {name: {enum: [a]}}}]`:                                          "",
	object + `, not: {properties: {name: {type: string}}}`:                                                               "not.properties.name.type: Forbidden: must be empty to be structural",
	object + `, default: {}`:                                                           "f.default.name: Required value",
	object + `, default: {name: a}`:                                                    "",
	object + `, default: {name: a, prot: 1}`:                                           "f.default: must not have unknown fields",
	`type: string, maxLength: 1, default: ab`:                                          `f.default: Too long: may not be more than 1 byte`,
	`type: string, nullable: true, default: null`:                                      "",
	object + `, x-kubernetes-validations: [{rule: "self.port > 0 || has(self.name)"}]`: "",
	object + `, x-kubernetes-validations: [{rule: "self.port >"}]`:                     "x-kubernetes-validations[0].rule: compilation failed: ERROR: <input>:1:12: Syntax error",
	object + `, x-kubernetes-validations: [{rule: "self.prot > 0"}]`:                   "x-kubernetes-validations[0].rule: compilation failed: ERROR: <input>:1:5: undefined field 'prot'",
	object + `, x-kubernetes-validations: [{message: a}]`:                              "x-kubernetes-validations[0].rule: Required value: rule is not specified",
}

// withField returns a CRD with a field of that schema.
func withField(t *testing.T, field string) map[string]any {
	return decode(t, strings.Replace(soundCRD, "tier: {type: string, enum: [dev, prod], default: dev}", "f: {"+field+"}", 1))
}

// TestFlawsOfFields checks one schema of a field at a time.
func TestFlawsOfFields(t *testing.T) {
	for field, want := range fieldFlaws {
		found := Flaws(withField(t, field))
		if want == "" && len(found) > 0 || want != "" && !strings.Contains(fmt.Sprint(found), want) {
			t.Errorf("%s: want %q, got %v", field, want, found)
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
