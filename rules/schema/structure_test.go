package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const gizmos = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.example.com}
spec:
  group: example.com
  names: {kind: Gizmo, plural: gizmos}
  versions: [{name: v1, served: true, schema: {openAPIV3Schema: SCHEMA}}]
`

func TestStructure(t *testing.T) {
	cases := []struct {
		name, schema, given, want string
		pruned                    []string
	}{
		{
			name:   "fills in a default",
			schema: `{"properties":{"spec":{"properties":{"replicas":{"default":1}}}}}`,
			given:  `{"spec":{}}`,
			want:   `{"spec":{"replicas":1}}`,
		},
		{
			name:   "leaves an absent parent absent",
			schema: `{"properties":{"spec":{"properties":{"replicas":{"default":1}}}}}`,
			given:  `{}`,
			want:   `{}`,
		},
		{
			name:   "fills in defaults within a default",
			schema: `{"properties":{"spec":{"default":{},"properties":{"replicas":{"default":1}}}}}`,
			given:  `{}`,
			want:   `{"spec":{"replicas":1}}`,
		},
		{
			name:   "replaces a null that may not be null",
			schema: `{"properties":{"a":{"default":1},"b":{"default":1,"nullable":true},"c":{}}}`,
			given:  `{"a":null,"b":null,"c":null}`,
			want:   `{"a":1,"b":null}`,
		},
		{
			name:   "replaces a null in lists and maps",
			schema: `{"properties":{"l":{"items":{"default":1}},"m":{"additionalProperties":{"default":1}},"n":{"additionalProperties":{}}}}`,
			given:  `{"l":[null,2],"m":{"k":null},"n":{"k":null}}`,
			want:   `{"l":[1,2],"m":{"k":1},"n":{}}`,
		},
		{
			name:   "reaches into lists and maps",
			schema: `{"properties":{"l":{"items":{"properties":{"a":{"default":"x"}}}},"m":{"additionalProperties":{"properties":{"a":{"default":"x"}}}}}}`,
			given:  `{"l":[{},{"a":"y"}],"m":{"k":{}}}`,
			want:   `{"l":[{"a":"x"},{"a":"y"}],"m":{"k":{"a":"x"}}}`,
		},
		{
			name:   "prunes unknown fields",
			schema: `{"properties":{"spec":{"properties":{"replicas":{}}}}}`,
			given:  `{"apiVersion":"v","kind":"K","metadata":{"name":"n"},"spec":{"replica":3,"list":[1]},"other":1}`,
			want:   `{"apiVersion":"v","kind":"K","metadata":{"name":"n"},"spec":{}}`,
			pruned: []string{"other", "spec.list", "spec.replica"},
		},
		{
			name:   "prunes unknown fields in lists and maps",
			schema: `{"properties":{"l":{"items":{"properties":{"a":{}}}},"m":{"additionalProperties":{"properties":{"a":{}}}}}}`,
			given:  `{"l":[{"a":1,"other":1}],"m":{"k.l":{"other":1}}}`,
			want:   `{"l":[{"a":1}],"m":{"k.l":{}}}`,
			pruned: []string{"l[0].other", `m["k.l"].other`},
		},
		{
			name:   "keeps what it is told to keep",
			schema: `{"properties":{"spec":{"x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"properties":{}}}},"any":{"additionalProperties":true}}}`,
			given:  `{"spec":{"a":{"b":1},"known":{"c":1}},"any":{"d":{"e":1}}}`,
			want:   `{"spec":{"a":{"b":1},"known":{}},"any":{"d":{}}}`,
			pruned: []string{"any.d.e", "spec.known.c"}, // additionalProperties: true keeps fields, but not the fields below them.
		},
		{
			name:   "keeps the head of an embedded object",
			schema: `{"properties":{"o":{"x-kubernetes-embedded-resource":true,"properties":{"spec":{}}}}}`,
			given:  `{"o":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"},"spec":1}}`,
			want:   `{"o":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"},"spec":1}}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			set, err := New(Sources{CRDs: []map[string]any{decode(t, strings.Replace(gizmos, "SCHEMA", c.schema, 1))}})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			if err := utiljson.Unmarshal([]byte(c.given), &got); err != nil {
				t.Fatal(err)
			}
			structure := set.Structure(set.Kinds()[slices.IndexFunc(set.Kinds(), func(k *Kind) bool { return k.GVK.Kind == "Gizmo" })])
			var pruned []string
			for _, f := range structure.Prune(got) {
				pruned = append(pruned, f.Path)
			}
			if diff := cmp.Diff(c.pruned, pruned); diff != "" {
				t.Errorf("pruned (-want +got)\n%s", diff)
			}
			structure.Default(got)
			want := map[string]any{}
			if err := utiljson.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
