package change_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/change"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/rules"
)

func owner(name string) rules.Owner {
	return rules.Owner{Kind: schema.GroupKind{Group: "example.com", Kind: "Foo"}, Namespace: "team", Name: name, UID: "1"}
}

func write(action outcome.Action, name string, digest byte) plan.UnsentWrite {
	return plan.UnsentWrite{
		Part:   plan.Part{Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Namespace: "team", Name: name, Manager: "reconcel"},
		Kind:   "Deployment",
		Action: action,
		Digest: [32]byte{digest},
	}
}

// TestUnsent expects that a change is new once, and that what two primaries want of one object counts once.
func TestUnsent(t *testing.T) {
	all := change.NewUnsent()
	for i, step := range []struct {
		of   string
		now  []plan.UnsentWrite
		news int
		want string
	}{
		{"a", []plan.UnsentWrite{write(outcome.Created, "web", 1)}, 1, "[{created Deployment 1 [team/web]}]"},
		{"a", []plan.UnsentWrite{write(outcome.Created, "web", 1)}, 0, "[{created Deployment 1 [team/web]}]"},
		{"a", []plan.UnsentWrite{write(outcome.Created, "web", 2)}, 1, "[{created Deployment 1 [team/web]}]"},
		{"b", []plan.UnsentWrite{write(outcome.Created, "web", 2), write(outcome.Deleted, "old", 0)}, 2,
			"[{created Deployment 1 [team/web]} {deleted Deployment 1 [team/old]}]"},
		{"a", nil, 0, "[{created Deployment 1 [team/web]} {deleted Deployment 1 [team/old]}]"},
		{"b", nil, 0, "[]"},
	} {
		news := all.Replace(owner(step.of), step.now)
		if got := fmt.Sprint(all.Lines()); len(news) != step.news || got != step.want {
			t.Errorf("step %d: %d are new, and there are %s", i, len(news), got)
		}
	}
	if got := all.Text(); got != "Nothing would be written (dry run).\n" {
		t.Errorf("without changes, it prints %q", got)
	}
	all.Replace(owner("a"), []plan.UnsentWrite{write(outcome.Created, "web", 1)})
	if got, want := all.Text(), "ACTION    KIND         COUNT   OBJECTS\ncreated   Deployment   1       team/web\n"; got != want {
		t.Errorf("it prints\n%s", got)
	}
}
