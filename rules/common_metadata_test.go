package rules

import (
	"strings"
	"testing"
)

// TestCommonMetadata shows the labels and annotations of a child in a rule that has common ones. The text before the ~
// is up to the owner reference, the text behind it are the annotations.
func TestCommonMetadata(t *testing.T) {
	const (
		ours   = `"reconcel.dev/child":"c","reconcel.dev/rule":"r"`
		common = `{labels: {team: "${self.spec.team}", tier: web, cost: "${self.spec.?cost}"}, annotations: {note: "for ${self.metadata.name}"}}`
	)
	for _, tc := range []struct {
		name, common, metadata string
		want                   string // or the failure, or what the child waits for
	}{
		{"a template without labels", common, `{name: web}`,
			`"labels":{` + ours + `,"team":"a","tier":"web"},"name":"web","namespace":"ns",~"annotations":{"note":"for p",`},
		{"a template with other labels", common, `{name: web, labels: {app: shop, zone: z}}`,
			`"labels":{"app":"shop",` + ours + `,"team":"a","tier":"web","zone":"z"},"name":"web","namespace":"ns",~"annotations":{"note":"for p",`},
		{"the template takes precedence", common, `{name: web, labels: {tier: db}, annotations: {note: own}}`,
			`"labels":{` + ours + `,"team":"a","tier":"db"},"name":"web","namespace":"ns",~"annotations":{"note":"own",`},
		{"a template that leaves them out", common,
			`{name: web, labels: {tier: null, team: "${self.spec.?nope}"}, annotations: {note: null}}`,
			`"labels":{` + ours + `},"name":"web","namespace":"ns",~"annotations":{`},
		{"labels that are an expression", common, `{name: web, labels: "${self.spec.labels}"}`,
			`"labels":{"app":"shop",` + ours + `,"team":"a","tier":"db"},"name":"web","namespace":"ns",~"annotations":{"note":"for p",`},
		{"labels that are data of a let", common, `{name: web, labels: "${own}"}`,
			`"labels":{"app":"let",` + ours + `,"team":"a","tier":"web"},"name":"web","namespace":"ns",~"annotations":{"note":"for p",`},
		{"metadata that is an expression", common, `'${{"name": "web", "labels": {"tier": "x", ?"team": self.spec.?nope}}}'`,
			`"labels":{` + ours + `,"team":"a","tier":"x"},"name":"web","namespace":"ns",~"annotations":{"note":"for p",`},
		{"common labels that are an expression", `{labels: "${self.spec.labels}"}`, `{name: web, labels: {app: own, a: b}}`,
			`"labels":{"a":"b","app":"own",` + ours + `,"tier":"db"},"name":"web","namespace":"ns",~"annotations":{`},
		{"two expressions", `{labels: "${self.spec.labels}"}`, `{name: web, labels: '${{"tier": "own"}}'}`,
			`"labels":{"app":"shop",` + ours + `,"tier":"own"},"name":"web","namespace":"ns",~"annotations":{`},
		{"common labels that are data of a let", `{labels: "${own}"}`, `{name: web}`,
			`"labels":{"app":"let",` + ours + `},"name":"web","namespace":"ns",~"annotations":{`},
		{"reconcel's own are left out of an expression", `{labels: "${self.metadata.labels}"}`, `{name: web}`,
			`"labels":{"on":"p",` + ours + `},"name":"web","namespace":"ns",~"annotations":{`},
		{"an ignored label of the template", common, `{name: web, labels: {tier: db}}` + "\n    ignoreFields: ['metadata.labels[\"tier\"]']",
			`"labels":{` + ours + `,"team":"a"},"name":"web","namespace":"ns",~"annotations":{"note":"for p",`},
		{"a lookup that does not exist", `{labels: {a: "${settings.data.a}"}}`, `{name: web}`, "waits for settings.data.a"},
		{"a value that is not text", `{labels: {a: "${self.spec.number}"}}`, `{name: web}`,
			`rule "r": child "c": commonMetadata.labels.a: must be text, got int`},
		{"a value of a map that is not text", `{annotations: "${self.spec.mixed}"}`, `{name: web}`,
			`rule "r": child "c": commonMetadata.annotations: the value of "n" must be text, got int`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rule := `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let: {own: {app: let}}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: settings}
  commonMetadata: ` + tc.common + `
  children:
  - id: c
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: ` + tc.metadata + "\n"
			self := object{
				"apiVersion": "example.com/v1", "kind": "Primary",
				"metadata": object{"name": "p", "namespace": "ns", "labels": object{"on": "p", "reconcel.dev/rule": "outer"}},
				"spec": object{"team": "a", "number": int64(1), "mixed": object{"n": int64(1)},
					"labels": object{"app": "shop", "tier": "db"}},
			}
			d := first(&one(t, rule, self, nil).Children[0])
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

// TestCommonMetadataOfCollections labels the objects of forEach, of replicas and of finalize, and neither selectors,
// Pod templates nor the primary.
func TestCommonMetadataOfCollections(t *testing.T) {
	const rule = `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  commonMetadata: {labels: {team: "${self.spec.team}"}}
  children:
  - id: each1
    forEach: {w: self.spec.workers}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "w-${w}"}}
  - id: copies
    replicas: 2
    template: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: copy-}}
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        selector: {matchLabels: {app: web}}
        template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
  finalize:
  - {id: bye, timeout: 1m, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: bye}}}
  patch: {metadata: {labels: {seen: "1"}}}
`
	metadata := object{"name": "p", "namespace": "ns"}
	self := object{"apiVersion": "example.com/v1", "kind": "Primary", "metadata": metadata,
		"spec": object{"team": "a", "workers": list{"x", "y"}}}
	if got := string(one(t, rule, self, nil).Patch); got != `{"metadata":{"labels":{"seen":"1"}}}` {
		t.Errorf("the patch is %s", got)
	}
	metadata["deletionTimestamp"], metadata["finalizers"] = "2024-01-02T03:04:05Z", list{Finalizer("r")}
	res := one(t, rule, self, nil)
	var objects int
	for i := range res.Children {
		for j := range res.Children[i].Objects {
			objects++
			d := &res.Children[i].Objects[j]
			if got := strings.Count(body(t, d), `"team":"a"`); got != 1 {
				t.Errorf("%s has the label %d times, want 1: %s", d.Subject(), got, body(t, d))
			}
		}
	}
	if objects != 6 {
		t.Errorf("got %d objects, want 6", objects)
	}
}
