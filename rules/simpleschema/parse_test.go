package simpleschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"reconcel/rules/simpleschema"
)

func parse(t *testing.T, fields, types string) (any, error) {
	t.Helper()
	read := func(text string) (out map[string]any) {
		if err := yaml.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	s, err := simpleschema.Parse(read(fields), read(types))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

func TestFieldsBecomeTheSchemaOfAnObject(t *testing.T) {
	for name, c := range map[string]struct{ fields, types, want string }{
		"scalars": {
			fields: `{a: string, b: integer, c: number, d: float, e: boolean, f: object, g: any, h: intOrString}`,
			want: `
a: {type: string}
b: {type: integer}
c: {type: number}
d: {type: number}
e: {type: boolean}
f: {type: object, x-kubernetes-preserve-unknown-fields: true}
g: {x-kubernetes-preserve-unknown-fields: true}
h: {x-kubernetes-int-or-string: true}`,
		},
		"lists and maps": {
			fields: `{a: "[]string", b: "map[string]integer", c: "[][]map[string]boolean"}`,
			want: `
a: {type: array, items: {type: string}}
b: {type: object, additionalProperties: {type: integer}}
c: {type: array, items: {type: array, items: {type: object, additionalProperties: {type: boolean}}}}`,
		},
		"markers of values": {
			fields: `
a: integer | minimum=0 maximum=10 description="How many"
b: string | minLength=1 maxLength=9 pattern="^[a-z|]+$"
c: '[]string | minItems=1 maxItems=3 uniqueItems=true'
d: string | enum="small, large" nullable=true
e: integer | enum="1,2"
f: string | format=date-time`,
			want: `
a: {type: integer, minimum: 0, maximum: 10, description: How many}
b: {type: string, minLength: 1, maxLength: 9, pattern: "^[a-z|]+$"}
c: {type: array, items: {type: string}, minItems: 1, maxItems: 3, x-kubernetes-list-type: set}
d: {type: string, enum: [small, large], nullable: true}
e: {type: integer, enum: [1, 2]}
f: {type: string, format: date-time}`,
		},
		"immutable and validation": {
			fields: `a: string | immutable=true validation="self != 'x'"`,
			want: `
a:
  type: string
  x-kubernetes-validations:
  - {rule: self == oldSelf, message: cannot be changed}
  - {rule: self != 'x'}`,
		},
		"custom types": {
			fields: `{a: "[]Worker", b: "Size | default=large"}`,
			types:  `{Worker: {name: string | required=true, size: Size}, Size: 'string | enum="small,large"'}`,
			want: `
a: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, size: {type: string, enum: [small, large]}}}}
b: {type: string, enum: [small, large], default: large}`,
		},
		"known fields and others": {
			fields: `{a: {b: string, "*": any}, c: "[]T"}`,
			types:  `{T: {"*": any}}`,
			want: `
a: {type: object, properties: {b: {type: string}}, x-kubernetes-preserve-unknown-fields: true}
c: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}`,
		},
		"types of Kubernetes": {
			fields: `{a: v1/LocalObjectReference, b: "map[string]networking.k8s.io/v1/IPBlock", c: v1/LabelSelectorRequirement}`,
			want: `
a: {type: object, properties: {name: {type: string}}, x-kubernetes-map-type: atomic}
b: {type: object, additionalProperties: {type: object, required: [cidr], properties: {cidr: {type: string}, except: {type: array, items: {type: string}}}}}
c: {type: object, required: [key, operator], properties: {key: {type: string}, operator: {type: string}, values: {type: array, items: {type: string}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(t, c.fields, c.types)
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.(map[string]any)["properties"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnObjectWithDefaultsIsItselfADefault(t *testing.T) {
	got, err := parse(t, `
image: string | required=true
ingress: {enabled: boolean | default=false, host: string | default="it's"}
limits: 'map[string]string | default={"cpu": "1"}'
ports: '[]integer | default=[80, 443]'
strict: {host: string | required=true, port: integer | default=80}`, "")
	if err != nil {
		t.Fatal(err)
	}
	var want any
	_ = yaml.Unmarshal([]byte(`
type: object
required: [image]
properties:
  image: {type: string}
  ingress: {type: object, default: {}, properties: {enabled: {type: boolean, default: false}, host: {type: string, default: "it's"}}}
  limits: {type: object, additionalProperties: {type: string}, default: {cpu: "1"}}
  ports: {type: array, items: {type: integer}, default: [80, 443]}
  strict: {type: object, required: [host], properties: {host: {type: string}, port: {type: integer, default: 80}}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsNameThePath(t *testing.T) {
	for name, c := range map[string]struct{ fields, types, want string }{
		"an unknown type":     {`{a: {b: strin}}`, "", `a.b: unknown type "strin"`},
		"an unknown marker":   {`{a: string | max=3}`, "", `a: unknown marker "max"`},
		"a marker twice":      {`{a: string | minLength=3 minLength=4}`, "", `a: the marker minLength is there twice`},
		"a default":           {`{a: integer | default=x}`, "", `a: default: "x" is not of the type integer`},
		"a default of a list": {`{a: '[]string | default={}'}`, "", `a: default: "{}" is not of the type array`},
		"an open quote":       {`{a: string | description="x}`, "", `a: description: the quote is not closed`},
		"a list":              {`{a: [b]}`, "", `a: write a type such as string, or a map of fields`},
		"keys of a map":       {`{a: "map[integer]string"}`, "", `the keys of a map are strings`},
		"a cycle":             {`{a: T}`, `{T: {b: "[]T"}}`, `a.b: the type T contains itself`},
		"others of a type":    {`{a: {"*": string}}`, "", `a.*: other fields have any type: write "*": any`},
		"a required type":     {`{a: T}`, `{T: string | required=true}`, `a: required belongs to a field, not to the type T`},
		"an optional type":    {`{a: T}`, `{T: string | required=false}`, `a: required belongs to a field, not to the type T`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, c.fields, c.types)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	doubling := map[string]any{"T20": "string"}
	for i := range 20 {
		doubling[fmt.Sprint("T", i)] = map[string]any{"a": fmt.Sprint("T", i+1), "b": fmt.Sprint("[]T", i+1)}
	}
	for name, c := range map[string]struct {
		field string
		types map[string]any
		want  string
	}{
		"doubling types": {"T0", doubling, "there are more than 10000 fields, with those of the types"},
		"levels":         {strings.Repeat("[]", 100_000) + "string", nil, "it has more than 64 levels"},
		"maps":           {strings.Repeat("map[string]", 100_000) + "string", nil, "it has more than 64 levels"},
		"markers":        {"string |" + strings.Repeat(` validation="true"`, 101), nil, "there are more than 100 markers"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simpleschema.Parse(map[string]any{"x": c.field}, c.types)
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %.200v, want %s", err, c.want)
			}
		})
	}
	if err := simpleschema.Check(doubling); err == nil {
		t.Error("types of a million fields are accepted")
	}
}

func TestOptionalFieldsAreNamedByTheirPaths(t *testing.T) {
	optional := simpleschema.Optional(map[string]any{
		"image": "string | required=false",
		"size":  "string | required=true",
		"web":   map[string]any{"host": "string | required=false default=a", "port": "integer"},
		"all":   "map[string][]Worker",
		"one":   "Worker | required=false",
	}, map[string]any{"Worker": map[string]any{"queue": "string | required=false"}})
	if diff := cmp.Diff([]string{"all[][].queue", "image", "one.queue", "one", "web.host"}, optional); diff != "" {
		t.Error(diff)
	}
}
