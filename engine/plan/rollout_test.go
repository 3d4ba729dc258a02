package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
)

// TestRolloutKnowsStatesAfterARecount makes the plan of the same program again, as the recount of another change does. What is known of
// the resources that the rollout has reached stays known, unless the rollout is to other rules.
func TestRolloutKnowsStatesAfterARecount(t *testing.T) {
	kind, one, two := schema.GroupKind{Kind: "Foo"}, ident.Request{Name: "one"}, ident.Request{Name: "two"}
	rolloutTo := func(to string) *Rollout {
		return &Rollout{Kind: kind, Progress: inventory.Rollout{To: to}, states: map[ident.Request]reached{}}
	}
	for to, want := range map[string]int{"hash": 1, "another hash": 0} {
		before, after := rolloutTo("hash"), rolloutTo(to)
		before.Note(one, outcome.Outcome{State: outcome.Stalled})
		s := ActiveRules{Rollouts: map[schema.GroupKind]*Rollout{kind: after}}
		pl := &Plan{}
		pl.Rollouts = map[schema.GroupKind]*Rollout{kind: before}
		s.KnowStates(pl)
		before.Note(two, outcome.Outcome{}) // Of a reconciliation with the plan that ends.
		if got, known := after.states[one]; len(after.states) != want || known && got.state != outcome.Stalled {
			t.Errorf("a rollout to %s knows %v", to, after.states)
		}
	}
	s := ActiveRules{Rollouts: map[schema.GroupKind]*Rollout{kind: rolloutTo("hash")}}
	s.KnowStates(&Plan{}) // Without a rollout before, nothing is known.
}
