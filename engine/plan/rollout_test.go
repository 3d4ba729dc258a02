package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
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

// TestRolloutForgetsALostTurn has a canary that fails, loses its label, so that it goes back, and gets the label again. The failure from
// before does not stop the rollout.
func TestRolloutForgetsALostTurn(t *testing.T) {
	req := ident.Request{Name: "one", UID: "one"}
	with := func(canary string) *watch.Object {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "one", "uid": "one"}}}
		u.SetLabels(map[string]string{"canary": canary})
		return watch.NewObject(u, watch.Primary)
	}
	ro := &Rollout{first: []labels.Selector{labels.SelectorFromSet(labels.Set{"canary": "yes"})},
		Progress: inventory.Rollout{Reached: afterFirst}, states: map[ident.Request]reached{}}
	ro.Note(req, outcome.Outcome{State: outcome.Stalled})
	for _, step := range []struct {
		canary         string
		reached, known bool
	}{{"yes", true, true}, {"no", false, false}, {"yes", true, false}} {
		if got := ro.Reaches(req, with(step.canary)); got != step.reached {
			t.Errorf("with canary: %s, the rollout reaches the primary: %v", step.canary, got)
		}
		if _, known := ro.states[req]; known != step.known {
			t.Errorf("with canary: %s, its state is known: %v", step.canary, known)
		}
	}
}
