package cli

import (
	"time"

	"reconcel/engine"
)

// filesState is what became of the rules files. It does not change.
type filesState struct {
	Hash  string    `json:"hash"`  // of those that are followed
	Since time.Time `json:"since"` // when they were followed first
	// Refused are files that are not followed, if there are such.
	Refused *refusedFiles `json:"rejected,omitempty"`
}

// refusedFiles are rules files that are not followed, and all reasons.
type refusedFiles struct {
	Hash   string    `json:"hash"`
	Since  time.Time `json:"since"`
	Report []string  `json:"errors"`
}

// A debugAnswer is what /debug/rules answers.
type debugAnswer struct {
	State   string       `json:"state"`
	Files   *filesState  `json:"files"`
	Queue   debugQueue   `json:"queue"`
	Rules   []debugRule  `json:"rules"`
	Watches []debugWatch `json:"watches"`
}

type debugQueue struct {
	Waiting int `json:"waiting"`
	InWork  int `json:"running"`
}

type debugRule struct {
	Name      string         `json:"name"`
	At        string         `json:"position"`
	For       string         `json:"for"`
	Primaries map[string]int `json:"primaries"`
	Children  int            `json:"children"`
	Refused   string         `json:"installationConflict,omitempty"` // why the rule is inactive
}

type debugWatch struct {
	Kind      string     `json:"kind"`
	Role      string     `json:"role"`
	Selector  string     `json:"selector,omitempty"`
	Namespace string     `json:"namespace,omitempty"` // if only some are followed
	Synced    bool       `json:"synced"`
	Why       string     `json:"error,omitempty"`
	Objects   int        `json:"objects"`
	Version   string     `json:"resourceVersion,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
}

func debugRules(i engine.Inspection, files *filesState) debugAnswer {
	answer := debugAnswer{
		State: "standby", Files: files, Queue: debugQueue{i.Waiting, i.InWork},
		Rules: []debugRule{}, Watches: []debugWatch{},
	}
	switch {
	case i.Waits != "":
		answer.State = i.Waits
	case i.Leading:
		answer.State = "leader"
	}
	for _, r := range i.Rules {
		answer.Rules = append(answer.Rules, debugRule{r.Name, r.Pos.String(), r.Primary, r.Primaries, r.Children, r.Refused})
	}
	for _, w := range i.Watches {
		d := debugWatch{
			Kind: w.Kind, Role: w.Role, Selector: w.Selector, Namespace: w.Namespace,
			Synced: w.Problem == nil, Objects: w.Objects, Version: w.Version,
		}
		if w.Problem != nil {
			d.Why = w.Problem.Error()
		}
		if !w.Since.IsZero() {
			d.Since = &w.Since
		}
		answer.Watches = append(answer.Watches, d)
	}
	return answer
}

// noteFollowed notes that the files are followed as they are now.
func (w *ruleWatch) noteFollowed() {
	state := &filesState{Hash: w.active.String(), Since: time.Now()}
	if old := w.state.Load(); old != nil && old.Hash == state.Hash {
		state.Since = old.Since // Others were there for a while, and are gone.
	}
	w.state.Store(state)
}

// noteRefused notes what is wrong with the files as they are now.
func (w *ruleWatch) noteRefused(err error) {
	state := *w.state.Load()
	state.Refused = &refusedFiles{Hash: w.held.String(), Since: time.Now()}
	for _, c := range complaintsOf(err) {
		state.Refused.Report = append(state.Refused.Report, c.Error())
	}
	w.state.Store(&state)
}
