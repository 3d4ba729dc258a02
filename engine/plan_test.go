package engine

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/source"
)

const lookupRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: reads
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${self.spec.settings}"}
  - {id: more, apiVersion: v1, kind: ConfigMap, name: "${self.spec.more}"}
  - {id: pods, apiVersion: v1, kind: Pod, selector: {}}
  children:
  - id: copy
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {color: "${settings.data.color}"}}
- name: writes
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget}
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {color: blue}}
- name: elsewhere
  for: {apiVersion: v1, kind: Namespace}
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {color: blue}}
`

func TestPlanOfLookups(t *testing.T) {
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(lookupRules)}})
	if err != nil {
		t.Fatal(err)
	}
	pl := plan.NewPlan("", plan.AllActive(program), inventory.Orphaned{}, nil)
	widgets := pl.Primaries[schema.GroupKind{Group: "test.reconcel.dev", Kind: "Widget"}]
	namespaces := pl.Primaries[schema.GroupKind{Kind: "Namespace"}]
	reads, writes := widgets.Rules[0], widgets.Rules[1]
	configs, pods := widgets.Lookups[reads.Lookups[0]], widgets.Lookups[reads.Lookups[2]]

	if widgets.Lookups[reads.Lookups[1]] != configs {
		t.Error("two lookups of one kind do not share their watch")
	}
	if configs == widgets.Children[configs.GVK] || configs.Selector != "" {
		t.Errorf("children are not told from what is looked up, by %v", configs.Key)
	}
	for _, w := range widgets.ByRule[reads] {
		if w.Role == watch.Lookup {
			t.Errorf("%v is among what is pruned", w.Key)
		}
	}
	if !widgets.Uses(pods) || namespaces.Uses(pods) {
		t.Error("not exactly the primaries of the rule with the lookup are asked for when its kind becomes known")
	}

	for _, w := range pl.Watches {
		if w != pods {
			show(t, w, ident.Kind{GVK: w.GVK, Namespaced: true})
		}
	}
	pods.Fail(errors.New("pods is forbidden"))
	for _, test := range []struct {
		result rules.RuleResult
		want   string
	}{
		{rules.RuleResult{Rule: reads}, "Pod: pods is forbidden"},
		{rules.RuleResult{Rule: reads, Teardown: true}, ": "},
		{rules.RuleResult{Rule: writes}, ": "},
	} {
		kind, why := passFor(access.Subject{Primary: widgets, Req: ident.Request{Namespace: "default"}}).View.UnlistedKind(&test.result)
		if got := kind + ": " + why; got != test.want {
			t.Errorf("rule %s, leaving %t: it waits for %q, want %q", test.result.Rule.Name, test.result.Teardown, got, test.want)
		}
	}
}
