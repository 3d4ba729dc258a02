package findings

import (
	"testing"

	"reconcel/cli/internal/plan"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/source"
)

const planned = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: web
  for: {apiVersion: example.com/v1, kind: Web}
  children:
  - id: app
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${self.metadata.name}"}}
`

// TestPlanIsAtTheRules shows a reviewer which lines of the rules are dangerous.
func TestPlanIsAtTheRules(t *testing.T) {
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(planned)}})
	if err != nil {
		t.Fatal(err)
	}
	group := func(action outcome.Action, rule string, risk plan.Risk) *plan.Group {
		return &plan.Group{Action: action, Kind: "Deployment", Rule: rule, Child: "app", Risk: risk, Count: 2, Objects: []string{"n/a", "n/b"}}
	}
	report := &plan.Report{
		Held:    []inventory.HeldChange{{Rule: "web", Message: "would delete 9 objects"}},
		Risks:   []*plan.Group{group("configured", "web", plan.RestartsPods), group("deleted", "old", plan.StopsPods)},
		Changes: []*plan.Group{group("created", "web", "")},
		Pending: []*plan.Group{group("skipped", "web", ""), group("rejected", "web", "")},
		Errors:  []string{"no answer"},
	}
	want := "::error::the plan is incomplete: no answer\n" +
		"::warning::2 Deployment deleted, which stops Pods (rule old, child app)%0An/a, n/b\n" +
		"::warning file=rules.yaml,line=4,col=3::would delete 9 objects\n" +
		"::error file=rules.yaml,line=7,col=5::2 Deployment rejected (rule web, child app)%0An/a, n/b\n" +
		"::warning file=rules.yaml,line=7,col=5::2 Deployment configured, which restarts Pods (rule web, child app)%0An/a, n/b\n"
	if got := string(Annotations(Plan(report, program))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
