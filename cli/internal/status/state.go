package status

import (
	"slices"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/rules/source"
)

// A State is the state of a resource: one that conditions report (see
// engine.ReportedState), or one of status alone.
type State string

const (
	stalled     State = "stalled"
	retrying    State = "retrying"
	waiting     State = "waiting"
	progressing State = "progressing"
	paused      State = "paused"
	unknown     State = "unknown"    // reconcel has not written conditions for this generation
	unreported  State = "unreported" // the kind has no conditions, and there is no Warning
	ready       State = "ready"
)

// AllStates are all states, worst first. Troubles are those that are listed by
// default.
var (
	AllStates = []State{stalled, retrying, waiting, progressing, paused, unknown, unreported, ready}
	Troubles  = AllStates[:6]
)

// ParseStates reads the states of a flag.
func ParseStates(texts []string) (states []State, err error) {
	for _, text := range texts {
		if !slices.Contains(AllStates, State(text)) {
			var names []string
			for _, s := range AllStates {
				names = append(names, string(s))
			}
			return nil, exit.Misused("--state %q: expected some of %s%s", text, strings.Join(names, ", "), source.DidYouMean(text, names))
		}
		states = append(states, State(text))
	}
	return states, nil
}
