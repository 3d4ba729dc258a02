package rules

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMayHaveMoved(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	of := func(id string) *Child { return &Child{ID: id, GVK: configMap} }
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
		{"it is leaving", "moved", "ConfigMap", RuleResult{Leaving: true, Err: &Failure{}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.result.Rule = other
			out := Rendering{Rules: []RuleResult{{Rule: from, Err: &Failure{}}, test.result}}
			if got := out.MayHaveMoved(from, test.child, schema.GroupKind{Kind: test.kind}); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
