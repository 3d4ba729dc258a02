package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestComplete(t *testing.T) {
	cases := []struct {
		name, schema, given, want string
		dropped                   []string
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
			name:   "reaches into lists and maps",
			schema: `{"properties":{"l":{"items":{"properties":{"a":{"default":"x"}}}},"m":{"additionalProperties":{"properties":{"a":{"default":"x"}}}}}}`,
			given:  `{"l":[{},{"a":"y"}],"m":{"k":{}}}`,
			want:   `{"l":[{"a":"x"},{"a":"y"}],"m":{"k":{"a":"x"}}}`,
		},
		{
			name:    "drops unknown fields",
			schema:  `{"properties":{"spec":{"properties":{"replicas":{}}}}}`,
			given:   `{"apiVersion":"v","kind":"K","metadata":{"name":"n"},"spec":{"replica":3,"list":[1]},"other":1}`,
			want:    `{"apiVersion":"v","kind":"K","metadata":{"name":"n"},"spec":{}}`,
			dropped: []string{"other", "spec.list", "spec.replica (did you mean replicas?)"},
		},
		{
			name:    "drops unknown fields in lists and maps",
			schema:  `{"properties":{"l":{"items":{"properties":{"a":{}}}},"m":{"additionalProperties":{"properties":{"a":{}}}}}}`,
			given:   `{"l":[{"a":1,"other":1}],"m":{"k.l":{"other":1}}}`,
			want:    `{"l":[{"a":1}],"m":{"k.l":{}}}`,
			dropped: []string{"l[0].other", `m["k.l"].other`},
		},
		{
			name:    "keeps what it is told to keep",
			schema:  `{"properties":{"spec":{"x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"properties":{}}}},"any":{"additionalProperties":true}}}`,
			given:   `{"spec":{"a":{"b":1},"known":{"c":1}},"any":{"d":{"e":1}}}`,
			want:    `{"spec":{"a":{"b":1},"known":{}},"any":{"d":{"e":1}}}`,
			dropped: []string{"spec.known.c"},
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
			schema := &structure{}
			if err := json.Unmarshal([]byte(c.schema), schema); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			if err := utiljson.Unmarshal([]byte(c.given), &got); err != nil {
				t.Fatal(err)
			}
			root := schema.asRoot()
			if diff := cmp.Diff(c.dropped, root.prune(got, "")); diff != "" {
				t.Errorf("dropped (-want +got)\n%s", diff)
			}
			root.fill(got)
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
