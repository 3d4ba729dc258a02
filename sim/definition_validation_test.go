package sim_test

import (
	"strings"
	"testing"
)

// TestDefinitionsWithFlaws are CRDs that the API server rejects in other words than these.
func TestDefinitionsWithFlaws(t *testing.T) {
	for property, want := range map[string]string{
		"{type: array, uniqueItems: true, items: {type: string}}": "properties.list.uniqueItems: Forbidden: is not supported in a CRD: " +
			"write x-kubernetes-list-type: set",
		"{type: array, x-kubernetes-list-type: map, items: {type: object}}": "properties.list: Forbidden: " +
			"has no x-kubernetes-list-map-keys, which a list of the type map needs",
		"{type: array, items: [{type: string}]}": "properties.list.items: Forbidden: must be one schema, not a list",
		"{type: text}":                           `properties.list.type: Forbidden: "text" is not one of array, `,
		"{type: object, properties: {a: {type: string}}, required: [size]}": "",
	} {
		w := newWorld(t)
		_, err := w.tryApply("alice", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tops.sim.reconcel.dev}
spec:
  group: sim.reconcel.dev
  scope: Namespaced
  names: {kind: Top, plural: tops}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {list: `+property+`}}}}]
`)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", property, err)
			}
			continue
		}
		want = `CustomResourceDefinition.apiextensions.k8s.io "tops.sim.reconcel.dev" is invalid: ` +
			"spec.versions[0].schema.openAPIV3Schema." + want
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %s, got %v", property, want, err)
		}
	}
}

// TestADefinitionWithAnEmptySchemaIsRejected has a schema without openAPIV3Schema.
func TestADefinitionWithAnEmptySchemaIsRejected(t *testing.T) {
	_, err := newWorld(t).tryApply("alice", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tops.sim.reconcel.dev}
spec:
  group: sim.reconcel.dev
  scope: Namespaced
  names: {kind: Top, plural: tops}
  versions: [{name: v1, served: true, storage: true, schema: {}}]
`)
	if err == nil || !strings.Contains(err.Error(), "spec.versions[0].schema.openAPIV3Schema: Required value") {
		t.Error(err)
	}
}
