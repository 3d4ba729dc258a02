package check

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// looseCRD defines a kind as kubebuilder does: nothing requires spec.
const looseCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Web, plural: webs}
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
              service: {type: object, properties: {enabled: {type: boolean}, ports: {type: array, items: {type: object, properties: {name: {type: string}}}}}}
              object: {type: object, x-kubernetes-embedded-resource: true, properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}}}
          status: {type: object, properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

// TestOneCauseIsOneWarning checks that a field that may be absent is reported once, and
// with advice for the whole path.
func TestOneCauseIsOneWarning(t *testing.T) {
	const (
		noSpec    = "for.kind: the CRD of Web does not require spec, so self.spec may be absent"
		configMap = "template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: "
	)
	for _, c := range []struct {
		name, rule string
		want       []string
	}{
		{
			"a let that several children use", "let: {v: self.spec.service}\n  children:\n" +
				"  - {id: a, " + configMap + "{x: '${string(v.enabled)}'}}}\n  - {id: b, " + strings.Replace(configMap, "name: a", "name: b", 1) + "{x: '${string(v.enabled)}'}}}\n",
			[]string{noSpec, "let.v: self.spec.service may be absent: write self.spec.?service.orValue(...)"},
		},
		{
			"two levels", "children:\n  - {id: a, when: self.spec.service.enabled, " + configMap + "{}}}\n",
			[]string{noSpec, `children[0] "a": when: self.spec.service may be absent: write self.spec.?service.?enabled.orValue(...)`},
		},
		{
			"an element of a list", "children:\n  - {id: a, when: 'self.spec.service.ports[0].name == \"\"', " + configMap + "{}}}\n",
			[]string{noSpec, `children[0] "a": when: self.spec.service may be absent: write self.spec.?service.?ports[?0].?name.orValue(...)`},
		},
		{
			"has of a field below", "children:\n  - {id: a, when: has(self.spec.service.enabled), " + configMap + "{}}}\n",
			[]string{noSpec, `children[0] "a": when: self.spec.service may be absent: write self.spec.?service.?enabled.hasValue()`},
		},
		{
			"a comparison with null", "children:\n  - {id: a, when: self.spec.service != null, " + configMap + "{}}}\n",
			[]string{noSpec, `children[0] "a": when: self.spec.service may be absent: write self.spec.?service.hasValue()`},
		},
		{
			"a comparison of a field below with null", "children:\n  - {id: a, when: null == self.spec.service.enabled, " + configMap + "{}}}\n",
			[]string{noSpec, `children[0] "a": when: self.spec.service may be absent: write !self.spec.?service.?enabled.hasValue()`},
		},
		{"a guarded spec", "children:\n  - {id: a, when: 'self.?spec.?service.?enabled.orValue(false)', " + configMap + "{}}}\n", nil},
		{
			"a selected label", "for: {apiVersion: example.com/v1, kind: Web, selector: {matchLabels: {a: b}, matchExpressions: [{key: c/d, operator: Exists}]}}\n" +
				"  children:\n  - {id: a, when: 'self.metadata.labels.a == self.metadata.labels[\"c/d\"]', " + configMap + "{}}}\n", nil,
		},
		{
			"another label", "for: {apiVersion: example.com/v1, kind: Web, selector: {matchExpressions: [{key: c, operator: DoesNotExist}]}}\n" +
				"  children:\n  - {id: a, when: 'self.metadata.labels.a == \"\"', " + configMap + "{}}}\n",
			[]string{`children[0] "a": when: self.metadata.labels may be absent: write self.metadata.?labels.?a.orValue(...)`},
		},
		{
			"the kind of an embedded object", "children:\n  - {id: a, when: 'has(self.spec.object) && self.spec.object.kind == self.spec.object.apiVersion', " + configMap + "{}}}\n",
			[]string{noSpec},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var crd map[string]any
			if err := yaml.Unmarshal([]byte(looseCRD), &crd); err != nil {
				t.Fatal(err)
			}
			set, err := schema.New(schema.Sources{CRDs: []map[string]any{crd}})
			if err != nil {
				t.Fatal(err)
			}
			rule := c.rule
			if !strings.Contains(rule, "for:") {
				rule = "for: {apiVersion: example.com/v1, kind: Web}\n  " + rule
			}
			text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: web\n  " + rule
			f := found(t, set, source.File{Name: "rules.yaml", Data: []byte(text)})
			if len(f.Errors) > 0 || len(f.Warnings) != len(c.want) {
				t.Fatalf("errors %v, warnings %v, want %q", f.Errors, f.Warnings, c.want)
			}
			for i, want := range c.want {
				if f.Warnings[i].Message != want {
					t.Errorf("got  %s\nwant %s", f.Warnings[i].Message, want)
				}
			}
		})
	}
}
