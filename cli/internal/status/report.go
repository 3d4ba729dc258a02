package status

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
)

// A Report is the result of status. Its JSON is documented.
type Report struct {
	Problems  []Problem           `json:"problems"` // those of the rules first
	Resources []rendered.Resource `json:"resources"`
	Summary   Summary             `json:"summary"`
	Leaders   []Leader            `json:"leaders"`
}

// A Summary counts all resources, including those that are not listed.
type Summary struct {
	Resources int                    `json:"resources"`
	Kinds     int                    `json:"kinds"`
	States    map[rendered.State]int `json:"states"`
}

// A Problem is a problem that is not about one resource, or that hides resources.
type Problem struct {
	Type    problemType `json:"type"`
	Kind    string      `json:"kind,omitempty"` // Kind.group
	Rules   []string    `json:"rules,omitempty"`
	Message string      `json:"message"`
}

// A problemType identifies a problem for programs.
type problemType string

const (
	kindNotServed       problemType = "KindNotServed"
	listForbidden       problemType = "ListForbidden"
	listFailed          problemType = "ListFailed"
	noResources         problemType = "NoResources"
	eventsForbidden     problemType = "EventsForbidden"
	inventoryUnreadable problemType = "InventoryUnreadable"
	noLeader            problemType = "NoLeader"
	notInstalled        problemType = "NotInstalled"
	pauseIgnored        problemType = "PauseIgnored"
	changeHeld          problemType = "ChangeHeld"
	rolloutStopped      problemType = "RolloutStopped"
	rulesRejected       problemType = "RulesRejected"

	rulesInvalidForCluster problemType = "RulesInvalidForCluster"
)

// newReport returns an empty report. Its lists are not nil, so that JSON has []
// instead of null.
func newReport() Report {
	return Report{[]Problem{}, []rendered.Resource{}, Summary{States: map[rendered.State]int{}}, []Leader{}}
}

// IsStalled reports whether a resource is stalled, or a change of the rules is.
func (r *Report) IsStalled() bool {
	return r.Summary.States[rendered.Stalled] > 0 || r.AreRulesStalled()
}

// AreRulesStalled reports whether a change of the rules has no effect, or not on all resources, until a user acts.
func (r *Report) AreRulesStalled() bool { return slices.ContainsFunc(r.Problems, isOfRules) }

func isOfRules(p Problem) bool {
	return slices.Contains([]problemType{rulesRejected, rulesInvalidForCluster, changeHeld, rolloutStopped}, p.Type)
}

// Header returns what comes before the resources: what is wrong with the rules.
func (r *Report) Header() string {
	var b strings.Builder
	for _, p := range r.Problems {
		if isOfRules(p) {
			b.WriteString(output.Printable(p.Message) + "\n")
		}
	}
	return b.String()
}

func (r *Report) problem(of problemType, k *kind, format string, args ...any) {
	p := Problem{Type: of, Message: fmt.Sprintf(format, args...)}
	if k != nil {
		p.Kind, p.Rules = k.gk.String(), k.rules
	}
	r.Problems = append(r.Problems, p)
}

// Footer returns the problems, the leaders and the summary, for people.
func (r *Report) Footer() string {
	var b strings.Builder
	for _, p := range r.Problems {
		if p.Type != noLeader && !isOfRules(p) { // The line about the leader, or the header, says so.
			b.WriteString(output.Printable(p.Message) + "\n")
		}
	}
	for _, l := range r.Leaders {
		fmt.Fprintf(&b, "leader of %s/%s: %s\n", l.Namespace, l.Name, output.Printable(l.Message))
	}
	b.WriteString(r.Summary.String() + "\n")
	return b.String()
}

// String returns a text such as "3 stalled, 120 ready of 123 resources of 4 kinds".
func (s Summary) String() string {
	var states []string
	for _, state := range AllStates {
		if n := s.States[state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	total := output.Plural(s.Resources, "resource") + " of " + output.Plural(s.Kinds, "kind")
	if len(states) == 0 {
		return total
	}
	return strings.Join(states, ", ") + " of " + total
}
