package plan

import (
	"slices"
	"testing"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/source"
)

// readsRules returns rules that read some fields of their primaries, children and lookups.
func readsRules(status, lookup string) string {
	return `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  lookups:
  - {id: look, apiVersion: v1, kind: ConfigMap, name: "${self.metadata.name}"}
  children:
  - id: web
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {a: "${look.data.` + lookup + `}"}}, spec: {replicas: 1}}
  status: {x: "${` + status + `}"}
`
}

func loadRules(t *testing.T, text string) *rules.Program {
	t.Helper()
	p, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReloadListsAgainWhatItReadsMoreOf checks which watches a reload takes over: those that
// cache everything that the new rules read.
func TestReloadListsAgainWhatItReadsMoreOf(t *testing.T) {
	small := readsRules("web.spec.replicas", "a")
	before := NewPlan("", AllActive(loadRules(t, small)), inventory.Orphaned{}, nil)
	for name, c := range map[string]struct {
		rules string
		again []watch.Role
	}{
		"the same":                       {small, nil},
		"more of the child":              {readsRules("web.spec", "a"), []watch.Role{watch.Child}},
		"another field of the lookup":    {readsRules("web.spec.replicas", "b"), []watch.Role{watch.Lookup}},
		"the whole primary as well":      {readsRules("json.marshal(self) + string(web.spec.replicas)", "a"), []watch.Role{watch.Primary}},
		"less of the child":              {readsRules("1", "a"), nil},
		"more of the child and a lookup": {readsRules("web.spec", "b"), []watch.Role{watch.Child, watch.Lookup}},
	} {
		var again []watch.Role
		for _, w := range NewPlan("", AllActive(loadRules(t, c.rules)), inventory.Orphaned{}, before.Watches).Watches {
			if !slices.Contains(before.Watches, w) {
				again = append(again, w.Role)
			}
		}
		slices.Sort(again)
		if !slices.Equal(again, c.again) {
			t.Errorf("%s: lists %v again, want %v", name, again, c.again)
		}
	}
}
