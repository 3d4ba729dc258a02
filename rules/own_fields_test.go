package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// TestOwnFields has patches of spec.replicas that read a Deployment through a lookup, which may be the patched one.
func TestOwnFields(t *testing.T) {
	deployment := func(name string, replicas int64) map[string]any {
		return map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": "default", "uid": name, "labels": map[string]any{"app": name}, "annotations": map[string]any{"from": "web"}},
			"spec":     map[string]any{"replicas": replicas, "minReadySeconds": int64(1)},
		}
	}
	web, other := deployment("web", 3), deployment("other", 5)
	const certain, computed = "certain", "computed"
	for _, c := range []struct {
		lookup string // after its id and kind
		value  string
		own    string // certain: it is found when the rules load; computed: when they are rendered; "": it is sound
	}{
		{`name: "${self.metadata.name}"`, `l.spec.replicas`, certain},
		{`name: "${self.metadata.name}"`, `l.spec.?replicas.orValue(1)`, certain},
		{`name: "${self.metadata.name}"`, `has(l.spec.replicas) ? 1 : 2`, certain},
		{`name: "${self.metadata.name}"`, `viaLet`, certain},
		{`name: "${named}"`, `l.spec.replicas`, certain},
		{`name: "${self.metadata.name}"`, `replicasOf(l)`, certain},
		{`name: "${self.metadata.name}", namespace: "${self.metadata.namespace}"`, `l.spec.replicas`, certain},
		{`names: ["${self.metadata.name}"]`, `l[0].spec.replicas`, certain},
		{`names: ["a", "${named}"]`, `l.map(d, d.spec.replicas).sum()`, certain},
		{`selector: {}`, `l.map(d, d.spec.replicas).sum()`, certain},

		{`name: "${self.metadata.annotations.from}"`, `l.spec.replicas`, computed},
		{`name: "${self.metadata.annotations.from}"`, `size(hash.sha256(string(l.spec.replicas)))`, computed},
		{`name: web`, `l.spec.replicas`, computed},
		{`names: ["${self.metadata.annotations.from}"]`, `l[0].spec.replicas`, computed},
		{`selector: {matchLabels: {app: web}}`, `l[0].spec.replicas`, computed},
		{`selector: {}`, `l.filter(d, d.metadata.name == self.metadata.name)[0].spec.replicas`, computed},

		{`name: "${self.metadata.name}"`, `l.spec.minReadySeconds`, ""},
		{`name: "${self.metadata.annotations.from}"`, `l.spec.minReadySeconds`, ""},
		{`name: other`, `l.spec.replicas`, ""},
		{`name: "${self.metadata.name}-x"`, `l.?spec.?replicas.orValue(1)`, ""},
		{`names: ["other"]`, `l[0].spec.replicas`, ""},
		{`selector: {matchLabels: {app: other}}`, `l[0].spec.replicas`, ""},
		{`selector: {}`, `l.filter(d, d.metadata.name != self.metadata.name)[0].spec.replicas`, ""},
		{`selector: {}`, `size(l)`, ""},
	} {
		t.Run(c.lookup+" "+c.value, func(t *testing.T) {
			program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: fmt.Appendf(nil, `apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  replicasOf(d dyn): d.spec.replicas
rules:
- name: echo
  for: {apiVersion: apps/v1, kind: Deployment}
  let: {named: self.metadata.name, viaLet: %s}
  lookups:
  - {id: l, apiVersion: apps/v1, kind: Deployment, %s}
  patch:
    spec:
      replicas: |-
        ${%s}
`, map[bool]string{true: "l.spec.replicas", false: "1"}[c.value == "viaLet"], c.lookup, c.value)}})
			if err != nil {
				t.Fatal(err)
			}
			p := program.Primaries()[0]
			if found := p.Rules[0].OwnFieldReads(); (len(found) > 0) != (c.own == certain) {
				t.Errorf("found when loading: %v", found)
			}
			var out rules.Rendering
			p.Render(rules.Input{Self: web, Lookup: func(_ *rules.Lookup, q rules.Query) (found []map[string]any, _ error) {
				for _, d := range []map[string]any{other, web} {
					if name := d["metadata"].(map[string]any)["name"]; name == q.Name || q.Name == "" && q.Selector.Matches(rules.LabelsOf(d)) {
						found = append(found, d)
					}
				}
				return found, nil
			}}, &out)
			failed := out.Rules[0].PatchErr
			if (failed != nil) != (c.own == computed) || failed != nil && !strings.Contains(failed.Message, "patch.spec.replicas: is computed from itself") {
				t.Errorf("rendering: %v", failed)
			}
		})
	}
}
