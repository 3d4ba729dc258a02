package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Gadget, plural: gadgets}
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
              size: {type: integer}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object}}}
              empty: {type: object}
              texts: {type: object, additionalProperties: {type: string}}
              parts: {type: array, items: {type: object, properties: {name: {type: string}}}}
              port: {x-kubernetes-int-or-string: true}
`

func TestUnknown(t *testing.T) {
	set, err := New(Sources{CRDs: []map[string]any{decode(t, gadgets)}})
	if err != nil {
		t.Fatal(err)
	}
	paths := func(gvk runtimeschema.GroupVersionKind, text string) (out []string) {
		for _, f := range set.Unknown(set.Kind(gvk), decode(t, text)) {
			out = append(out, f.Path)
		}
		return out
	}
	gadget := runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	crd := runtimeschema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	for _, c := range []struct {
		gvk  runtimeschema.GroupVersionKind
		text string
		want []string
	}{
		{gadget, "{metadata: {name: a, labels: {x: y}}, spec: {size: 1, texts: {any: thing}, parts: [{name: a}], port: 1}}", nil},
		{gadget, "{metadata: {nam: a}, speck: 1}", []string{"metadata.nam", "speck"}},
		{gadget, "{spec: {sice: null, parts: [{}, {nam: a}]}}", []string{"spec.parts[1].nam", "spec.sice"}},
		{gadget, "{spec: {free: {any: {thing: 1}, known: {not: 1}}, empty: {x: 1}}}", []string{"spec.empty.x", "spec.free.known.not"}},
		{gadget, "{spec: {size: {of: what}, parts: {name: a}}}", nil}, // A wrong type is not an unknown field.
		{deployment, "{spec: {template: {spec: {containers: [{imag: x}], nodeSelector: {a: b}}}, replica: 1}}",
			[]string{"spec.replica", "spec.template.spec.containers[0].imag"}},
		{crd, "{spec: {versions: [{schema: {openAPIV3Schema: {default: {any: thing}, nothing: 1}}}]}}",
			[]string{"spec.versions[0].schema.openAPIV3Schema.nothing"}},
	} {
		if diff := cmp.Diff(c.want, paths(c.gvk, c.text)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.text, diff)
		}
	}
	if found := set.Unknown(&Kind{GVK: gadget.GroupVersion().WithKind("Other")}, map[string]any{"x": 1}); found != nil {
		t.Errorf("of a kind without a schema: %v", found)
	}
}
