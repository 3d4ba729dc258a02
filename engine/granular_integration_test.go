//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/e2e"
)

// mergedFields are fields of every type that server-side apply may merge as a whole or in parts.
const mergedFields = `
              data: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: MAP}
              object: {type: object, properties: {p: {type: string}, q: {type: string}}, x-kubernetes-map-type: MAP}
              list: {type: array, LIST, items: {type: object, required: [name], properties: {name: {type: string}, v: {type: string}}}}
              set: {type: array, SET, items: {type: string}}
              empty: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: MAP}
              inside: {type: object, properties: {data: {type: object, additionalProperties: {type: string}, x-kubernetes-map-type: MAP}}}`

// mergedKind returns the CRD of a kind whose spec and status have mergedFields.
func mergedKind(kind string, edits ...string) string {
	lower := strings.ToLower(kind)
	return strings.NewReplacer(edits...).Replace(strings.NewReplacer("KIND", kind, "LOWER", lower, "FIELDS", mergedFields).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: LOWERs.test.reconcel.dev}
spec:
  group: test.reconcel.dev
  scope: Namespaced
  names: {kind: KIND, listKind: KINDList, plural: LOWERs, singular: LOWER}
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
              all: {type: boolean}FIELDS
          status:
            type: object
            properties:
              conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {type: {type: string}}, x-kubernetes-preserve-unknown-fields: true}}FIELDS
`))
}

// asAWhole and inParts are the edits of mergedKind for both states of its schema.
var (
	asAWhole = []string{"MAP", "atomic", "LIST", "x-kubernetes-list-type: atomic", "SET", "x-kubernetes-list-type: atomic"}
	inParts  = []string{"MAP", "granular", "LIST", "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]", "SET", "x-kubernetes-list-type: set"}
)

// merged renders mergedFields with all keys, or with one less in each.
const merged = `
      data: '${self.spec.all ? {"k1": "1", "k2": "2"} : {"k1": "1"}}'
      object: '${self.spec.all ? {"p": "1", "q": "2"} : {"p": "1"}}'
      list: '${self.spec.all ? [{"name": "a", "v": "1"}, {"name": "b", "v": "2"}] : [{"name": "a", "v": "1"}]}'
      set: '${self.spec.all ? ["a", "b"] : ["a"]}'
      empty: '${self.spec.all ? {"k1": "1"} : {}}'
      inside: {data: '${self.spec.all ? {"k1": "1", "k2": "2"} : {"k1": "1"}}'}
`

func mergedRules(primary, child string) string {
	return strings.NewReplacer("PRIMARY", primary, "CHILD", child, "LOWER", strings.ToLower(primary)).Replace(`
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: LOWER-NAMESPACE
  for: {apiVersion: test.reconcel.dev/v1, kind: PRIMARY, namespaces: [NAMESPACE]}
  children:
  - id: part
    readyWhen: "true"
    template:
     apiVersion: test.reconcel.dev/v1
     kind: CHILD
     metadata: {name: "${self.metadata.name}"}
     spec:` + merged + `
  status:` + merged + `
  patch:
     spec:` + merged)
}

// theFewer is what mergedFields are without the dropped keys.
var theFewer = map[string]any{
	"data": map[string]any{"k1": "1"}, "object": map[string]any{"p": "1"}, "list": []any{map[string]any{"name": "a", "v": "1"}},
	"set": []any{"a"}, "empty": map[string]any{}, "inside": map[string]any{"data": map[string]any{"k1": "1"}},
}

// hasFewer checks that none of the dropped keys is left in a part of an object.
func (w *world) hasFewer(kind, name, part string) {
	w.Helper()
	w.Eventually(kind+" "+part+" to lack what the rules have dropped", func() error {
		live, _, _ := unstructured.NestedMap(w.Get(e2e.GVK("test.reconcel.dev/v1", kind), name).Object, part)
		for field, want := range theFewer {
			if fmt.Sprint(live[field]) != fmt.Sprint(want) {
				return fmt.Errorf("%s is %v", field, live[field])
			}
		}
		return nil
	})
}

// TestFieldsThatTurnGranular changes the schemas of a primary and of a child from atomic to granular
// fields, while reconcel runs or not, and at the same moment as the rendering.
func TestFieldsThatTurnGranular(t *testing.T) {
	for _, c := range []struct {
		name     string
		together bool // the rendering changes before reconcel can have read the schema
		down     bool // no process runs while the schema changes
	}{
		{name: "together", together: true},
		{name: "later"},
		{name: "down", down: true, together: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			primary, child := "Whole"+c.name, "Part"+c.name
			of, part := e2e.GVK("test.reconcel.dev/v1", primary), e2e.GVK("test.reconcel.dev/v1", child)
			w.CRD(mergedKind(primary, asAWhole...))
			w.CRD(mergedKind(child, asAWhole...))
			in := w.run(mergedRules(primary, child))
			w.Create("apiVersion: test.reconcel.dev/v1\nkind: " + primary + "\nmetadata: {name: one}\nspec: {all: true}\n")
			w.Is(of, "one", "Ready", "True")
			w.settles()
			if c.down {
				in.stop()
			}
			w.replaceCRD(mergedKind(primary, inParts...))
			w.replaceCRD(mergedKind(child, inParts...))
			if !c.together {
				for _, at := range [][]string{{"spec", primary}, {"status", primary}, {"spec", child}} {
					w.Eventually(at[1]+" "+at[0]+" to have an owner of each key", func() error {
						for _, e := range w.Get(e2e.GVK("test.reconcel.dev/v1", at[1]), "one").GetManagedFields() {
							if strings.HasPrefix(e.Manager, "reconcel") && strings.Contains(e.FieldsV1.GetRawString(), `"f:`+at[0]+`":`) && strings.Contains(e.FieldsV1.GetRawString(), `"f:k2"`) {
								return nil
							}
						}
						return errors.New("it does not")
					})
				}
				w.settles()
				w.Quiet(3 * time.Second)
				w.Patch(part, "one", `{"spec":{"data":{"k2":"edited"}}}`)
				w.Has(part, "one", map[string]any{"spec.data.k2": "2"})
			}
			w.Patch(of, "one", `{"spec":{"all":false}}`)
			if c.down {
				w.run(mergedRules(primary, child))
			}
			w.hasFewer(child, "one", "spec")
			w.hasFewer(primary, "one", "status")
			w.hasFewer(primary, "one", "spec")
			w.Is(of, "one", "Ready", "True")
			w.settles()
			w.Quiet(3 * time.Second)
		})
	}
}
