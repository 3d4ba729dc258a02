package rules

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMayRender(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	of := func(id string) *Child { return &Child{ID: id, GVK: configMap} }
	named := func(id, name string) *Child {
		c := of(id)
		c.name = &text{parts: []textPart{{literal: name}}}
		return c
	}
	from := &Rule{Name: "from", Children: []*Child{of("kept")}}
	other := &Rule{Name: "other", Children: []*Child{of("moved")}}
	known := Desired{Identity: Identity{GVK: configMap, Name: "x"}, State: Failed}
	for _, test := range []struct {
		name   string
		child  string
		kind   string
		result RuleResult
		want   bool
	}{
		{"no child of the other rule", "moved", "ConfigMap", RuleResult{}, false},
		{"the other rule failed", "moved", "ConfigMap", RuleResult{Err: &Failure{}}, true},
		{"it failed, and makes other kinds", "moved", "Secret", RuleResult{Err: &Failure{}}, false},
		{"it failed, and the own rule has decided", "kept", "ConfigMap", RuleResult{Err: &Failure{}}, false},
		{"its child waits", "moved", "ConfigMap", RuleResult{Children: []ChildResult{{Child: of("moved"), State: Waiting}}}, true},
		{"its object has no name yet", "moved", "ConfigMap", RuleResult{Children: []ChildResult{{Child: of("moved"), Objects: []Desired{{State: Failed}}}}}, true},
		{"its object failed, and has a name", "moved", "ConfigMap", RuleResult{Children: []ChildResult{{Child: of("moved"), Objects: []Desired{known}}}}, false},
		{"its name is literal, and another", "moved", "ConfigMap", RuleResult{Children: []ChildResult{{Child: named("moved", "x"), State: Waiting}}}, false},
		{"its name is literal, and that of the object", "moved", "ConfigMap", RuleResult{Children: []ChildResult{{Child: named("moved", "y"), State: Waiting}}}, true},
		{"it is leaving", "moved", "ConfigMap", RuleResult{Teardown: true, Err: &Failure{}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.result.Rule = other
			out := Rendering{Rules: []RuleResult{{Rule: from, Children: []ChildResult{{Child: of("kept")}}}, test.result}}
			id := Identity{GVK: schema.GroupVersionKind{Version: "v1", Kind: test.kind}, Name: "y"}
			if got := out.MayRender(from, test.child, id); (got != "") != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
