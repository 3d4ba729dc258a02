package why

import (
	"testing"

	"reconcel/rules"
)

// In a cluster, previous() has what the cluster has. Offline it also has what the rules
// render, and that depends on their inputs.
func TestObjectsOfPreviousAreNotExplainedInACluster(t *testing.T) {
	const folder = "../../../examples/indexedjob"
	e := load(t, folder, statesOf(folder)[""])
	in := e.subjects()[0]
	completions := input{of: idOf(e.resources[0]), path: []any{"spec", "completions"}}
	condition := input{of: idOf(e.observed[0]), path: []any{"status", "conditions", 0, "type"}}
	reads := func() (n named) {
		s := Render(e.loaded.File, in.Primary, in.Input)
		n.add(s.Explain.Own(s.Out.Rules[0].Rule, []any{"status", "active"}))
		return n
	}
	if offline := reads(); !offline.has(completions) || !offline.has(condition) {
		t.Error("offline, the Jobs that are rendered are not named")
	}
	in.Input.Exists = nil
	n := reads()
	if n.has(completions) || !n.has(condition) {
		t.Error("in a cluster, other inputs than the observed Jobs are named, or these are not")
	}
	for _, role := range n.roles {
		if role == rules.RoleForEach {
			t.Error("a Job of previous() is explained by the rule")
		}
	}
}
