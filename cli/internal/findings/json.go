package findings

import "reconcel/rules/source"

// A Finding is a mistake in a file, as the JSON output has it.
type Finding struct {
	Severity string     `json:"severity"` // error, warning or note
	Position source.Pos `json:"position"` // line 0: the whole file
	Rule     string     `json:"rule,omitempty"`
	Message  string     `json:"message"`
	Hint     string     `json:"hint,omitempty"`
	Check    string     `json:"check,omitempty"` // its name in docs/checks.md
}

// List returns findings for an encoder of JSON.
func List(all source.Errors) []Finding {
	list := make([]Finding, len(all))
	for i, e := range all {
		list[i] = Finding{e.Severity.String(), e.Pos, e.Rule, e.Message, e.Hint, e.Check}
	}
	return list
}
