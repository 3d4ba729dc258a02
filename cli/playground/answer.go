package playground

import (
	"context"
	"encoding/json"
	"time"

	"reconcel/cli/internal/findings"
	"reconcel/cli/internal/graph"
	"reconcel/cli/internal/timeline"
)

// A Request is a question about a project.
type Request struct {
	Part    Part `json:"part"`
	Project Project
	// For Play: what another client does, and how long to play at least.
	Actions      []timeline.Action `json:"actions"`
	Milliseconds int64             `json:"until"`
}

// A Part selects what is answered.
type Part string

// The parts.
const (
	Check  Part = "check"  // validate
	Render Part = "render" // validate and render
	Graph  Part = "graph"
	Play   Part = "play"
)

// An Answer has the parts that were asked for.
type Answer struct {
	Findings []findings.Finding `json:"findings"`           // with positions
	Report   string             `json:"report"`             // what validate prints
	Result   string             `json:"result"`             // what render prints to stdout
	Notes    string             `json:"notes,omitempty"`    // what render or graph prints to stderr
	Failures []string           `json:"failures,omitempty"` // those of the notes that are failures, in their order
	Graph    []*graph.Diagram   `json:"graph,omitempty"`    // what graph prints as text
	Timeline *timeline.Timeline `json:"timeline,omitempty"`
}

// Respond answers a Request in JSON with an Answer in JSON.
func Respond(ctx context.Context, request []byte) ([]byte, error) {
	var q Request
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	s, valid := q.Project.check()
	var err error
	switch {
	case !valid || q.Part == Check:
	case q.Part == Graph:
		err = s.graph()
	case q.Part == Render:
		err = s.render()
	case q.Part == Play:
		err = s.play(ctx, timeline.Options{Actions: q.Actions, Until: time.Duration(q.Milliseconds) * time.Millisecond})
	}
	s.complain(err)
	s.Notes = s.notes.String()
	return json.Marshal(s.Answer)
}
