package cli

import (
	"time"

	"reconcel/cli/internal/rulewatch"
	"reconcel/engine"
)

// A debugAnswer is the response of /debug/rules.
type debugAnswer struct {
	State   string           `json:"state"`
	Files   *rulewatch.State `json:"files"`
	Queue   debugQueue       `json:"queue"`
	Rules   []debugRule      `json:"rules"`
	Watches []debugWatch     `json:"watches"`
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
	Namespace string     `json:"namespace,omitempty"` // if not all namespaces are watched
	Synced    bool       `json:"synced"`
	Why       string     `json:"error,omitempty"`
	Objects   int        `json:"objects"`
	Version   string     `json:"resourceVersion,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
}

func debugRules(i engine.Inspection, files *rulewatch.State) debugAnswer {
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
