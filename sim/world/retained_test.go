package world_test

import (
	"context"
	"testing"

	"reconcel/engine/access"
	"reconcel/rules"
	"reconcel/sim/world"
)

// TestRulesWaitForTheirPermissions asks for the permissions to clean up before rules become active, only of rules that
// do not have them.
func TestRulesWaitForTheirPermissions(t *testing.T) {
	retained, asked := false, 0
	w, err := world.New(world.Options{Program: briefRules(t, fooRule("one", "", configMap("a"))), Kinds: exampleKinds(t),
		Retain: func(context.Context, access.Remains) { asked++ }, Retained: func([]*rules.Program) bool { return retained }})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		retained bool
		want     int
	}{{false, 2}, {true, 2}, {false, 3}} {
		retained = step.retained
		if reload(t, w, fooRule("one", "", configMap("b"))); asked != step.want {
			t.Errorf("with permissions: %v, Retain was called %d times, want %d", retained, asked, step.want)
		}
	}
}
