package expr

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
)

// TestMergeApply in package engine compares results with the API server's.
func TestMergeApply(t *testing.T) {
	for src, want := range map[string]string{
		`mergeApply("v1/PodTemplateSpec", {"spec": {"containers": [{"name": "a"}]}}, {})`:                                                                               `{"spec":{"containers":[{"name":"a"}]}}`,
		`mergeApply("v1/PodTemplateSpec", {}, {"spec": {"hostNetwork": true}})`:                                                                                         `{"spec":{"hostNetwork":true}}`,
		`mergeApply("v1/PodTemplateSpec", {"spec": {"nodeSelector": {"a": "1"}}}, {"spec": {"nodeSelector": {"b": "2"}}})`:                                              `{"spec":{"nodeSelector":{"b":"2"}}}`,
		`mergeApply("v1/PodTemplateSpec", {"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": []}})`:                                                    `{"spec":{"tolerations":[]}}`,
		`mergeApply("v1/PodTemplateSpec", {"spec": {"priority": 1, "hostPID": true}}, {"spec": {"priority": null}})`:                                                    `{"spec":{"hostPID":true,"priority":null}}`,
		`mergeApply("v1/PodTemplateSpec", {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}, {"spec": {"containers": [{"name": "b"}]}})`:                         `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`,
		`mergeApply("v1/PodTemplateSpec", {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}, {"spec": {"containers": [{"name": "c"}, {"name": "a"}]}})`:          `{"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]}}`,
		`mergeApply("v1/ServiceSpec", {"ports": [{"port": 1, "name": "a"}]}, {"ports": [{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP", "name": "b"}]})`: `{"ports":[{"port":1,"protocol":"UDP"},{"name":"b","port":1,"protocol":"TCP"}]}`,
		`mergeApply("v1/ObjectMeta", {"finalizers": ["a", "b"], "labels": {"x": "1"}}, {"finalizers": ["c", "b"], "labels": {"y": "2"}})`:                               `{"finalizers":["a","c","b"],"labels":{"x":"1","y":"2"}}`,
		`mergeApply("rbac.authorization.k8s.io/v1/Role", {"rules": [{"verbs": ["get"]}]}, {"rules": []})`:                                                               `{"rules":[]}`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestMergesAreThoseOfTheAPIServer compares random objects of all kinds with the merge of structured-merge-diff, which
// the API server uses.
func TestMergesAreThoseOfTheAPIServer(t *testing.T) {
	kinds := schema.Builtin().Kinds()
	converter, err := managedfields.NewTypeConverter(schema.Builtin().Models(kinds...), false)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	merged := 0
	for _, k := range kinds {
		of := spec.RefSchema(schema.RefPrefix + k.Definition)
		name := schema.TypeOf(k.Definition)
		if name == "" {
			continue
		}
		for range 20 {
			random := func() map[string]any {
				o, _ := randomValue(random, of, 0).(map[string]any)
				o["apiVersion"], o["kind"] = k.GVK.GroupVersion().String(), k.GVK.Kind
				return o
			}
			base, patch := random(), random()
			want, err := applied(converter, base, patch)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			value := types.DefaultTypeAdapter.NativeToValue
			got := marshalJSON(mergeApply(types.String(name), value(base), value(patch)))
			if diff := cmp.Diff(jsonOf(t, want), got.Value()); diff != "" {
				t.Fatalf("%s: %s with %s (-want +got):\n%s", name, jsonOf(t, base), jsonOf(t, patch), diff)
			}
			merged++
		}
	}
	if merged < 1000 {
		t.Errorf("%d objects were merged", merged)
	}
}

// applied merges two objects.
func applied(converter managedfields.TypeConverter, base, patch map[string]any) (any, error) {
	left, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: base})
	if err != nil {
		return nil, err
	}
	right, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: patch})
	if err != nil {
		return nil, err
	}
	merged, err := left.Merge(right)
	if err != nil {
		return nil, err
	}
	return merged.AsValue().Unstructured(), nil
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// randomValue returns a value of a type. Few values are possible, so that elements of two lists are often the same.
func randomValue(random *rand.Rand, of *spec.Schema, depth int) any {
	s := schema.Builtin().Resolve(of)
	if s == nil || len(s.Type) != 1 { // An integer or a text.
		return fmt.Sprint(random.IntN(3))
	}
	switch s.Type[0] {
	case "string":
		return string(rune('a' + random.IntN(3)))
	case "integer", "number":
		return int64(random.IntN(3))
	case "boolean":
		return random.IntN(2) == 0
	case "array":
		return randomList(random, s, depth)
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; depth < 7 && random.IntN(3) > 0 {
			out[name] = randomValue(random, &p, depth+1)
		}
	}
	if extra := s.AdditionalProperties; extra != nil && extra.Schema != nil {
		for range random.IntN(3) {
			out[string(rune('a'+random.IntN(3)))] = randomValue(random, extra.Schema, depth+1)
		}
	}
	return out
}

// randomList returns a list in which no two elements have the same identity.
func randomList(random *rand.Rand, of *spec.Schema, depth int) any {
	how, keys := schema.MergedBy(of)
	seen, out := map[string]bool{}, []any{}
	for range random.IntN(4) {
		item := randomValue(random, of.Items.Schema, depth+1)
		id := fmt.Sprint(item)
		if fields, isMap := item.(map[string]any); isMap && how == "map" {
			id = ""
			for _, key := range keys {
				p := schema.Builtin().Resolve(of.Items.Schema).Properties[key]
				if key != "protocol" || random.IntN(2) == 0 {
					fields[key] = randomValue(random, &p, 0)
				} else {
					delete(fields, key)
				}
				value := fields[key]
				if value == nil {
					value = p.Default
				}
				id += fmt.Sprintf("%v/", value)
			}
		}
		if how == "" || how == "atomic" || !seen[id] {
			seen[id], out = true, append(out, item)
		}
	}
	return out
}
