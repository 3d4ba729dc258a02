package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var measured = runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Measured"}

// numbersOf returns the number fields of a kind whose spec has these properties, as YAML.
func numbersOf(t *testing.T, properties string) *Numbers {
	t.Helper()
	var crd map[string]any
	text := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: measureds.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {kind: Measured, plural: measureds}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: ` + properties + `}}}}}]}}`
	if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
		t.Fatal(err)
	}
	set, err := New(Sources{CRDs: []map[string]any{crd}})
	if err != nil {
		t.Fatal(err)
	}
	return set.NumberFields(map[runtimeschema.GroupVersionKind]bool{measured: true})[measured]
}

const allNumbers = `{
  number: {type: number}, float: {type: number, format: float}, double: {type: number, format: double}, nullable: {type: number, nullable: true},
  integer: {type: integer}, text: {type: string}, port: {x-kubernetes-int-or-string: true}, free: {x-kubernetes-preserve-unknown-fields: true},
  list: {type: array, items: {type: number}}, lists: {type: array, items: {type: array, items: {type: number}}},
  map: {type: object, additionalProperties: {type: number}}, maps: {type: object, additionalProperties: {type: object, properties: {number: {type: number}, integer: {type: integer}}}},
  items: {type: array, items: {type: object, properties: {name: {type: string}, number: {type: number}}}},
  integers: {type: array, items: {type: integer}}, embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, properties: {number: {type: number}}}}`

// TestNumbersAreDoubles converts each kind of field.
func TestNumbersAreDoubles(t *testing.T) {
	n := numbersOf(t, allNumbers)
	for _, c := range []struct{ field, value, want any }{
		{"number", int64(4), 4.0},
		{"number", int64(-4), -4.0},
		{"number", 3.5, 3.5},
		{"number", nil, nil},
		{"number", "4", "4"},
		{"number", int64(1 << 53), float64(1 << 53)},
		{"number", int64(1<<53 + 1), int64(1<<53 + 1)},
		{"number", int64(math.MaxInt64), int64(math.MaxInt64)},
		{"number", int64(math.MinInt64), int64(math.MinInt64)},
		{"float", int64(4), 4.0},
		{"double", int64(4), 4.0},
		{"nullable", int64(4), 4.0},
		{"nullable", nil, nil},
		{"integer", int64(4), int64(4)},
		{"port", int64(80), int64(80)},
		{"free", map[string]any{"number": int64(4)}, map[string]any{"number": int64(4)}},
		{"list", []any{int64(1), 2.5, nil}, []any{1.0, 2.5, nil}},
		{"lists", []any{[]any{int64(1)}, []any{}}, []any{[]any{1.0}, []any{}}},
		{"integers", []any{int64(1)}, []any{int64(1)}},
		{"map", map[string]any{"a": int64(1)}, map[string]any{"a": 1.0}},
		{"maps", map[string]any{"a": map[string]any{"number": int64(1), "integer": int64(2)}}, map[string]any{"a": map[string]any{"number": 1.0, "integer": int64(2)}}},
		{"items", []any{map[string]any{"name": "a", "number": int64(1)}}, []any{map[string]any{"name": "a", "number": 1.0}}},
		{"embedded", map[string]any{"number": int64(1), "other": int64(1)}, map[string]any{"number": 1.0, "other": int64(1)}},
		{"unknown", int64(1), int64(1)},
	} {
		name := c.field.(string)
		got := n.Of(map[string]any{"spec": map[string]any{name: c.value}})["spec"].(map[string]any)[name]
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v (%T) is %v (%T), want %v (%T)", name, c.value, c.value, got, got, c.want, c.want)
		}
	}
}

// TestNumbersShareTheRest checks that only what is around a whole number is copied, and never changed.
func TestNumbersShareTheRest(t *testing.T) {
	n := numbersOf(t, allNumbers)
	sharedList := []any{map[string]any{"name": "a", "number": 1.5}}
	object := map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"number": int64(4), "items": sharedList}}
	before, _ := json.Marshal(object)
	got := n.Of(object)
	if after, _ := json.Marshal(object); string(after) != string(before) || object["spec"].(map[string]any)["number"] != int64(4) {
		t.Errorf("the object was changed to %s", after)
	}
	same := func(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	if !same(got["metadata"], object["metadata"]) || !same(got["spec"].(map[string]any)["items"], sharedList) {
		t.Error("more was copied than what is around the number")
	}
	object["spec"].(map[string]any)["number"] = 4.5
	if allocated := testing.AllocsPerRun(10, func() { got = n.Of(object) }); allocated != 0 || !same(got, object) {
		t.Errorf("an object without whole numbers was copied, with %v allocations", allocated)
	}
	if numbersOf(t, `{integer: {type: integer}}`) != nil {
		t.Error("a kind without numbers has some")
	}
}

// TestKindsKeepTheirNumbers checks what is known of kinds that a set lacks.
func TestKindsKeepTheirNumbers(t *testing.T) {
	kinds := map[runtimeschema.GroupVersionKind]bool{measured: true}
	known := NumberFields{measured: {Is: true}}
	if got := known.With(Builtin(), kinds); !reflect.DeepEqual(got, known) {
		t.Errorf("got %v without a schema", got)
	}
	set, err := Builtin().With([]map[string]any{{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "measureds.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Measured", "plural": "measureds"}, "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := known.With(set, kinds); len(got) != 0 || len(known) != 1 {
		t.Errorf("got %v with a schema without numbers, before %v", got, known)
	}
}

// TestOwnNumbers checks that Kubernetes' own kinds have number fields only where they describe schemas. Of those, none are
// computed.
func TestOwnNumbers(t *testing.T) {
	var found []string
	for name, d := range builtin().definitions {
		at := d()
		if at == nil || isNumber(at) {
			found = append(found, name)
			continue
		}
		for field, p := range at.Properties {
			if isNumber(&p) {
				found = append(found, name+"."+field)
			}
		}
	}
	slices.Sort(found)
	const props = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps."
	if want := []string{props + "maximum", props + "minimum", props + "multipleOf"}; !slices.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}
