package world_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim/world"
)

// TestNarrowConditions reconciles kinds of others, whose conditions do not have all fields. Their status says Ready, and
// nothing is written at rest.
func TestNarrowConditions(t *testing.T) {
	const keyed = ", x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type]"
	for name, c := range map[string]struct{ fields, list string }{
		"all fields":                     {"type status reason message lastTransitionTime observedGeneration", keyed},
		"without observedGeneration":     {"type status reason message lastTransitionTime", keyed},
		"without reason":                 {"type status message lastTransitionTime severity", keyed},
		"only type and status":           {"type status", keyed},
		"one list of many writers":       {"type status reason message lastTransitionTime", ""},
		"one list with two fields":       {"type status", ""},
		"a list of whatever people want": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			item := "{type: object, x-kubernetes-preserve-unknown-fields: true}"
			if c.fields != "" {
				item = "{type: object, required: [type, status], properties: {" + strings.ReplaceAll(c.fields, " ", ": {type: string}, ") + ": {type: string}}}"
				item = strings.Replace(item, "observedGeneration: {type: string}", "observedGeneration: {type: integer}", 1)
			}
			kinds := kindsOf(t, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: machines.others.example.com},
spec: {group: others.example.com, scope: Namespaced, names: {kind: Machine, plural: machines}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}},
status: {type: object, properties: {conditions: {type: array, items: %s%s}}}}}}}]}}`, item, c.list))
			program := parsed(t, `{apiVersion: reconcel.dev/v1alpha1, kind: Rules, rules: [{name: one, for: {apiVersion: others.example.com/v1, kind: Machine},
children: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {size: "${string(self.spec.size)}"}}}],
conditions: [{type: Large, when: self.spec.size > 1, reason: Size, message: It is large}]}]}`)
			w, err := world.New(world.Options{Program: program, Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			machines := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Group: "others.example.com", Version: "v1", Resource: "machines"}).Namespace("default")
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "others.example.com/v1", "kind": "Machine", "metadata": map[string]any{"name": "m", "namespace": "default"}, "spec": map[string]any{"size": int64(1)}}}
			if _, err := machines.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			settle(t, w)
			for _, size := range []string{"1", "2"} {
				if _, err := machines.Patch(t.Context(), "m", types.MergePatchType, []byte(`{"spec":{"size":`+size+`}}`), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				settle(t, w)
				live, err := machines.Get(t.Context(), "m", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]any{}
				conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
				for _, c := range conditions {
					c := c.(map[string]any)
					got[c["type"].(string)] = c["status"]
				}
				large := map[string]string{"1": "False", "2": "True"}[size]
				if got["Ready"] != "True" || got["Large"] != large {
					t.Errorf("with the size %s, the conditions are %v", size, got)
				}
			}
			before := len(w.Writes())
			again(t, w)
			if n := len(w.Writes()) - before; n != 0 {
				t.Errorf("a restart makes %d writes: %v", n, w.Writes()[before:])
			}
		})
	}
}
