package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// TestOwnFields has patches of spec.replicas that read a Deployment through a lookup, which may be the patched one.
// Such a lookup counts as self.
func TestOwnFields(t *testing.T) {
	deployment := func(name string, replicas int64) map[string]any {
		return map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": "default", "uid": name, "labels": map[string]any{"app": name}, "annotations": map[string]any{"from": "web"}},
			"spec":     map[string]any{"replicas": replicas, "minReadySeconds": int64(1)},
		}
	}
	web, other := deployment("web", 3), deployment("other", 5)
	for _, c := range []struct {
		lookup string // after its id and kind
		value  string
		own    bool // the patch reads the field that it writes
	}{
		{`name: "${self.metadata.name}"`, `l.spec.replicas`, true},
		{`name: "${self.metadata.name}"`, `l.spec.?replicas.orValue(1)`, true},
		{`name: "${self.metadata.name}"`, `has(l.spec.replicas) ? 1 : 2`, true},
		{`name: "${self.metadata.name}"`, `viaLet`, true},
		{`name: "${named}"`, `l.spec.replicas`, true},
		{`name: "${self.metadata.name}"`, `replicasOf(l)`, true},
		{`name: "${self.metadata.name}", namespace: "${self.metadata.namespace}"`, `l.spec.replicas`, true},
		{`names: ["${self.metadata.name}"]`, `l[0].spec.replicas`, true},
		{`names: ["a", "${named}"]`, `l.map(d, d.spec.replicas).sum()`, true},
		{`selector: {}`, `l.map(d, d.spec.replicas).sum()`, true},

		{`name: "${self.metadata.annotations.from}"`, `l.spec.replicas`, true},
		{`name: "${self.metadata.annotations.from}"`, `size(hash.sha256(string(l.spec.replicas)))`, true},
		{`name: web`, `l.spec.replicas`, true},
		{`names: ["${self.metadata.annotations.from}"]`, `l[0].spec.replicas`, true},
		{`selector: {matchLabels: {app: web}}`, `l[0].spec.replicas`, true},
		{`selector: {}`, `l.filter(d, d.metadata.name == self.metadata.name)[0].spec.replicas`, true},

		{`name: "${self.metadata.name}"`, `l.spec.minReadySeconds`, false},
		{`name: "${self.metadata.annotations.from}"`, `l.spec.minReadySeconds`, false},
		{`name: other`, `l.spec.replicas`, false},
		{`name: "${self.metadata.name}-x"`, `l.?spec.?replicas.orValue(1)`, false},
		{`names: ["other"]`, `l[0].spec.replicas`, false},
		{`selector: {matchLabels: {app: other}}`, `l[0].spec.replicas`, false},
		{`selector: {}`, `l.filter(d, d.metadata.name != self.metadata.name)[0].spec.replicas`, false},
		{`selector: {}`, `size(l)`, false},
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
			var out rules.Rendering
			p.Render(rules.Input{Self: web, Lookup: func(_ *rules.Lookup, q rules.Query) (found []map[string]any, _ error) {
				for _, d := range []map[string]any{other, web} {
					if name := d["metadata"].(map[string]any)["name"]; name == q.Name || q.Name == "" && q.Selector.Matches(rules.LabelsOf(d)) {
						found = append(found, d)
					}
				}
				return found, nil
			}}, &out)
			r := &out.Rules[0]
			unstable := r.PatchErr != nil && strings.Contains(r.PatchErr.Message, "patch.spec.replicas: is computed from itself, and changes each time")
			if own := len(r.OwnFields) > 0 || unstable; own != c.own || r.PatchErr != nil && !unstable {
				t.Errorf("rendering: %v, %v", r.OwnFields, r.PatchErr)
			}
		})
	}
}
