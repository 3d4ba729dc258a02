package infer_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAChecksField derives where a check stands in the schema, and how it is written there.
func TestAChecksField(t *testing.T) {
	for check, want := range map[string]string{
		`self.spec.size > 0`:                                     "spec.size: self > 0",
		`self.spec.size>0&&self.spec.size<9`:                     "spec.size: self>0&&self<9",
		"self.spec.size > 0 // self.spec.size":                   "spec.size: self > 0 // self.spec.size",
		"self.spec.size > 0 &&\n  self.spec.size < 9":            "spec.size: self > 0 &&\n  self < 9",
		`"self.spec.size é€😀" != "" && self.spec.size > 0`:       `spec.size: "self.spec.size é€😀" != "" && self > 0`,
		`-self.spec.size < 0`:                                    "spec.size: -self < 0",
		`self.spec.size <= self.spec.max`:                        "spec: !has(self.size) || !has(self.max) || self.size <= self.max",
		`self.spec.inner.a + self.spec.inner.b < 9`:              "spec.inner: !has(self.a) || !has(self.b) || self.a + self.b < 9",
		`self.spec.inner.a + self.spec.size < 9`:                 "spec: !has(self.inner) || !has(self.inner.a) || !has(self.size) || self.inner.a + self.size < 9",
		`has(self.spec.may) || self.spec.size > 0`:               "spec: !has(self.size) || has(self.may) || self.size > 0",
		`has(self.spec.inner.a) && self.spec.inner.a > 0`:        "spec.inner: has(self.a) && self.a > 0",
		`self.spec.?may.orValue(1) > 0`:                          "spec: self.?may.orValue(1) > 0",
		`self.spec.may > 0`:                                      "spec: !has(self.may) || self.may > 0",
		`self.spec.filled > 0`:                                   "spec.filled: self > 0",
		`self.spec.none > 0`:                                     "spec: !has(self.none) || self.none > 0",
		`self.spec . size > 0`:                                   "spec: !has(self.size) || self . size > 0",
		`self . spec.size > 0 && self.spec.size < 9`:             ": !has(self.spec) || !has(self.spec.size) || self . spec.size > 0 && self.spec.size < 9",
		`self.?spec.size.orValue(1) > 0`:                         ": self.?spec.size.orValue(1) > 0",
		`has(self.spec) && self.spec.size > 0`:                   ": has(self.spec) && self.spec.size > 0",
		`self.count > 0`:                                         "count: self > 0",
		`self.specs > 0`:                                         "specs: self > 0",
		`self.count > self.spec.size`:                            ": !has(self.count) || !has(self.spec) || !has(self.spec.size) || self.count > self.spec.size",
		`self.spec.may > 0 ? self.spec.size > 0 : true`:          "spec: !has(self.may) || !has(self.size) || (self.may > 0 ? self.size > 0 : true)",
		`self.?count.orValue(1) > 0`:                             ": self.?count.orValue(1) > 0",
		`self.maybe > 0`:                                         ": !has(self.maybe) || self.maybe > 0",
		`size(self.spec.names) < 9 && !("a" in self.spec.names)`: `spec.names: size(self) < 9 && !("a" in self)`,
	} {
		t.Run(check, func(t *testing.T) {
			text, err := yaml.Marshal(map[string]any{"validate": []any{map[string]any{"expression": check, "message": "wrong"}}})
			if err != nil {
				t.Fatal(err)
			}
			d := inferred(t, `
  schema:
    spec:
      size: integer | required=true
      max: integer | required=true
      may: integer | required=false
      none: integer | required=true nullable=true
      filled: integer | default=3
      names: '[]string | required=true'
      inner: {a: integer | required=true, b: integer | required=true}
    fields: {count: integer | required=true, specs: integer | required=true, maybe: integer | required=false}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "${string(self.spec.inner.a)}"}}
  `+strings.ReplaceAll(string(text), "\n", "\n  "))
			crd, err := d.Object()
			if err != nil {
				t.Fatal(err)
			}
			versions := crd["spec"].(map[string]any)["versions"].([]any)
			root := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
			if got := strings.Join(checksIn("", root), "; "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// checksIn returns the checks of a schema and of the fields in it.
func checksIn(path string, s map[string]any) (all []string) {
	checks, _ := s["x-kubernetes-validations"].([]any)
	for _, c := range checks {
		all = append(all, path+": "+c.(map[string]any)["rule"].(string))
	}
	fields, _ := s["properties"].(map[string]any)
	for name, field := range fields {
		all = append(all, checksIn(strings.TrimPrefix(path+"."+name, "."), field.(map[string]any))...)
	}
	return all
}
