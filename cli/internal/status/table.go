package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/rules/source"
)

// AllStates are the states of resources, the worst first. Troubles are those that are listed
// by default.
var (
	AllStates = []rendered.State{rendered.Stalled, rendered.Retrying, rendered.Waiting, rendered.Progressing,
		rendered.Paused,
		rendered.Unknown, rendered.Unreported, rendered.Ready}
	Troubles = AllStates[:6]
)

// ParseStates reads the states of a flag.
func ParseStates(texts []string) (states []rendered.State, err error) {
	for _, text := range texts {
		if !slices.Contains(AllStates, rendered.State(text)) {
			var names []string
			for _, s := range AllStates {
				names = append(names, string(s))
			}
			return nil, exit.Misused("--state %q: expected some of %s%s", text, strings.Join(names, ", "),
				source.DidYouMean(text, names))
		}
		states = append(states, rendered.State(text))
	}
	return states, nil
}

// Write prints resources.
func (q *Query) Write(t *output.Table, resources []rendered.Resource, now time.Time) error {
	var lines []output.Line
	for i := range resources {
		lines = append(lines, q.line(t, &resources[i], now))
	}
	return t.Write(lines...)
}

func (q *Query) line(t *output.Table, r *rendered.Resource, now time.Time) (line output.Line) {
	if q.Namespace == "" {
		line.Add("NAMESPACE", r.Namespace)
	}
	line.Add("KIND/NAME", refOf(r))
	line.AddState(string(r.State), r.State.Colour())
	line.Add("REASON", r.Reason)
	line.Add("FOR", output.Age(r.Since, now))
	if t.Wide {
		observed := "-"
		if r.ObservedGeneration > 0 {
			observed = fmt.Sprint(r.ObservedGeneration)
		}
		line.Add("GENERATION", fmt.Sprintf("%s/%d", observed, r.Generation))
	}
	line.AddMessage(r.Message, t)
	return line
}

// refOf returns KIND/NAME, as kubectl takes it.
func refOf(r *rendered.Resource) string { return strings.ToLower(r.Kind) + "/" + r.Name }
