package plan

import (
	"slices"

	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
)

// A Report is the result of plan. It is the output of -o json.
type Report struct {
	// Against says with what the rules are compared.
	Against string `json:"against"`
	// Rules is missing if it is unknown which rules run.
	Rules       *RulesChange      `json:"rules,omitempty"`
	Resources   Resources         `json:"resources"`
	Kinds       []*KindCount      `json:"kinds"`
	Conditions  []ConditionChange `json:"conditions,omitempty"`
	Permissions *Permissions      `json:"permissions,omitempty"`
	// NewKinds are kinds that only the new rules use.
	NewKinds []string `json:"newKinds,omitempty"`
	// Held are changes that do not take effect until a user approves them. The rest of the
	// report says what happens then.
	Held []inventory.HeldChange `json:"held,omitempty"`
	// Risks and Changes are groups of equal changes: what may lose data or interrupt
	// service, and the others.
	Risks   []*Group `json:"risks"`
	Changes []*Group `json:"changes"`
	// Pending are changes that wait, and changes that fail or are rejected.
	Pending []*Group `json:"pending,omitempty"`
	// Already is the number of changes that the running rules make, too.
	Already int `json:"already,omitempty"`
	// Unknown is what plan cannot know.
	Unknown []string `json:"unknown,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// Errors make the plan incomplete.
	Errors []string `json:"errors,omitempty"`
}

// A RulesChange has the names of rules.
type RulesChange struct {
	Added     []string `json:"added,omitempty"`
	Changed   []string `json:"changed,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Unchanged int      `json:"unchanged"`
}

// Resources are numbers of primaries.
type Resources struct {
	Watched    int `json:"watched"`
	Reconciled int `json:"reconciled"` // by the reload
	Changed    int `json:"changed"`    // with a change of the primary or of an object
}

// A KindCount has the numbers of objects of one kind that change.
type KindCount struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Created    int    `json:"created"`
	Configured int    `json:"configured"` // also those that are extended
	Replaced   int    `json:"replaced"`
	Adopted    int    `json:"adopted"`
	Deleted    int    `json:"deleted"`
	Orphaned   int    `json:"orphaned"`
	Status     int    `json:"status"` // primaries whose status changes
}

// A ConditionChange is a change of one condition of primaries of a kind.
type ConditionChange struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Type       string `json:"type"`
	// Before and After are the values of status; "" stands for no such condition. They are
	// equal if only reason or message change.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Count  int    `json:"count"`
}

// Permissions are the permissions that only the new or only the running rules need.
type Permissions struct {
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// A Group has changes of objects of one kind with the same action and the same fields.
type Group struct {
	Action     outcome.Action `json:"action"`
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Part       string         `json:"part,omitempty"`
	Rule       string         `json:"rule"`
	Child      string         `json:"child,omitempty"`
	Risk       Risk           `json:"risk,omitempty"`
	Count      int            `json:"count"`
	Reasons    Tally          `json:"reasons,omitzero"`
	Fields     []*Field       `json:"fields,omitempty"`
	// Objects are all objects, as namespace/name.
	Objects []string `json:"objects"`
	// Diff is the unified diff of the first object of a risk.
	Diff string `json:"diff,omitempty"`
}

// A Field is a field that changes in all objects of a group.
type Field struct {
	Path   string `json:"path"`
	Values Tally  `json:"values"`
}

// A Tally counts texts. It keeps the first few.
type Tally struct {
	Texts []Counted `json:"texts"`
	// Others counts the rest.
	Others int `json:"others,omitempty"`
}

// Counted is a text with its number.
type Counted struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// mostTexts is the number of texts that a Tally keeps.
const mostTexts = 3

// add counts a text.
func (t *Tally) add(text string) {
	for i := range t.Texts {
		if t.Texts[i].Text == text {
			t.Texts[i].Count++
			return
		}
	}
	if len(t.Texts) == mostTexts {
		t.Others++
		return
	}
	t.Texts = append(t.Texts, Counted{text, 1})
}

// Differs reports whether an object changes.
func (r *Report) Differs() bool { return len(r.Risks)+len(r.Changes) > 0 }

// HasTrouble reports whether a write is rejected or something fails.
func (r *Report) HasTrouble() bool {
	return slices.ContainsFunc(r.Pending, func(g *Group) bool { return g.Action.IsTrouble() })
}
