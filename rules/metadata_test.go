package rules

import (
	"strings"
	"testing"
)

// ruleOfMetadata is a rule for children whose metadata is one expression.
func ruleOfMetadata(metadata string) string {
	return `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  allow: {namespaces: [other]}
  let:
    common: {labels: {app: shop}, annotations: {note: "${self.spec.note}"}, finalizers: [example.com/x]}
    placed: {namespace: ns, labels: {app: shop}}
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
  - id: c
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: ` + metadata + "\n"
}

func TestMetadataOfOneExpression(t *testing.T) {
	for _, tc := range []struct {
		name, metadata string
		want           string // of metadata without what reconcel sets, or the failure
	}{
		{"merged", `'${merge(common, {"name": self.metadata.name + "-web"})}'`,
			`"finalizers":["example.com/x"],"labels":{"app":"shop","reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"p-web","namespace":"ns",~"annotations":{"note":"n",`},
		{"a map", `'${{"name": "web", "labels": {"b": "1", ?"a": self.spec.?nope}, "annotations": null}}'`,
			`"labels":{"b":"1","reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"web","namespace":"ns",~"annotations":{`},
		{"another namespace", `'${merge({"name": "web"}, {"namespace": "oth" + "er"})}'`,
			`"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"web","namespace":"other","annotations":{~`},
		{"a deep merge", `'${deepMerge(common, {"name": "web", "labels": {"tier": "1"}})}'`,
			`"finalizers":["example.com/x"],"labels":{"app":"shop","reconcel.dev/child":"c","reconcel.dev/rule":"r","tier":"1"},"name":"web","namespace":"ns",~"annotations":{"note":"n",`},
		{"waiting for a label", `'${{"name": "web", "labels": {"a": other.data.a}}}'`, "waits for other.data.a"},
		{"a namespace that is not allowed", `'${{"name": "web", "namespace": self.spec.note}}'`,
			`rule "r": child "c": metadata.namespace: it is not the primary's namespace, and allow.namespaces does not include it`},
		{"an invalid name", `'${{"name": self.spec.bad}}'`, `rule "r": child "c": metadata.name: the name may contain only lower-case letters, digits, - and ., with a letter or digit at both ends`},
		{"a number as the name", `'${{"name": self.spec.number}}'`, `rule "r": child "c": metadata.name: must be text, got int`},
		{"a label that is not text", `'${{"name": "web", "labels": {"a": self.spec.number}}}'`, `rule "r": child "c": metadata.labels: the value of "a" must be text, got int`},
		{"reconcel's own annotation is left out", `'${{"name": "web", "annotations": {"reconcel.dev/" + "x": "a"}}}'`,
			`"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"web","namespace":"ns",~"annotations":{`},
		{"a computed namespace", `'${merge(self.spec.meta, {"name": "web"})}'`,
			`rule "r": child "c": metadata: namespace must be written out in the last map of the expression, beside the name`},
		{"a field that only the API server sets", `'${merge(self.spec.set, {"name": "web"})}'`, `rule "r": child "c": metadata: uid cannot be set: the API server sets it`},
		{"an unknown field", `'${merge(self.spec.unknown, {"name": "web"})}'`, `rule "r": child "c": metadata: lables is unknown: did you mean 'labels'?`},
		{"the same name as another child", `'${{"name": "oth" + "er"}}'`, `rule "r": child "c": metadata.name: child "other" of rule "r" has the same kind, namespace and name`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			self := object{
				"apiVersion": "example.com/v1", "kind": "Primary", "metadata": object{"name": "p", "namespace": "ns"},
				"spec": object{
					"note": "n", "bad": "A_b", "number": int64(1), "meta": object{"namespace": "elsewhere"},
					"set": object{"uid": "u"}, "unknown": object{"lables": object{}},
				},
			}
			d := first(&one(t, ruleOfMetadata(tc.metadata), self, nil).Children[1])
			got := strings.Join(append([]string{"waits for"}, d.Waits...), " ")
			switch d.State {
			case Rendered:
				_, got, _ = strings.Cut(string(d.body), `"metadata":{`)
				before, after, _ := strings.Cut(got, `"ownerReferences":`)
				_, after, _ = strings.Cut(after, "}],")
				got = before + "~" + after
			case Failed:
				_, got, _ = strings.Cut(d.Err.Message, ": ")
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestMetadataIsIdentifiedEarly finds the object of a child although a label of it waits.
func TestMetadataIsIdentifiedEarly(t *testing.T) {
	s := scene{
		rule: `
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: '${{"name": "web", "labels": {"a": other.data.a}}}'}
  status: {seen: "${c.data.x}"}
`,
		observed: cluster{"ConfigMap web": exists(object{"metadata": object{"name": "web", "namespace": "ns"}, "data": object{"x": "1"}})},
	}
	s.check(t, "other: other", "c: web exists waiting waits for other.data.a", `status {"seen":"1"}`)
}

// TestMetadataOfCollections gives the objects of forEach and replicas one expression each.
func TestMetadataOfCollections(t *testing.T) {
	s := scene{
		rule: `
  let: {common: {labels: {app: shop}}}
  children:
  - id: each1
    forEach: {w: self.spec.workers}
    template: {apiVersion: v1, kind: ConfigMap, metadata: '${merge(common, {"name": "w-" + w})}'}
  - id: copies
    replicas: 1
    template: {apiVersion: v1, kind: ConfigMap, metadata: '${merge(common, {"generateName": "copy-"})}'}
`,
		self: object{"spec": object{"workers": list{"a", "b"}}},
	}
	s.check(t, "each1: w-a", "each1: w-b", "copies: copy-8bpwxmgj")
}

// TestTimesAndDurationsInMetadata has the same text for them everywhere.
func TestTimesAndDurationsInMetadata(t *testing.T) {
	s := scene{rule: `
  let: {d: duration("1m30s"), t: 'timestamp("2024-01-02T03:04:05Z")'}
  children:
  - id: a
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${d}", labels: {d: "${d}"}, annotations: '${{"t": t, "d": d}}'}
      data: {d: "${d}", t: "${string(t)} ${t}", json: "${json.marshal([d, t])}"}
`}
	got := body(t, first(&s.render(t).Children[0]))
	for _, want := range []string{`"name":"90s"`, `"labels":{"d":"90s",`, `"d":"90s","t":"2024-01-02T03:04:05Z"`,
		`"data":{"d":"90s","json":"[\"90s\",\"2024-01-02T03:04:05Z\"]","t":"2024-01-02T03:04:05Z 2024-01-02T03:04:05Z"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
