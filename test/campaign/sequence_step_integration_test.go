//go:build integration

package campaign

// sequencePlan is a sequence of operations on one primary. A failure prints it, and
// RECONCEL_PLAN=file runs it again.
type sequencePlan struct {
	Seed  uint64         `json:"seed"` // it came from this seed
	Rules sequenceRules  `json:"rules"`
	Steps []sequenceStep `json:"steps"`
}

// sequenceStep is an operation on the primary or on its children, and what happens to the
// process at the same time.
type sequenceStep struct {
	Do      operation      `json:"do"`
	Changes []fieldChange  `json:"changes,omitempty"` // of the primary
	Object  string         `json:"object,omitempty"`  // the suffix of a child's name
	Merge   map[string]any `json:"merge,omitempty"`   // into a child
	Reason  string         `json:"reason,omitempty"`  // of the condition that a bad change causes

	Reload    *sequenceRules `json:"reload,omitempty"`
	KillAfter int            `json:"killAfter,omitempty"` // milliseconds from the beginning of the step
}

// fieldChange sets a field, or removes it if it has no value.
type fieldChange struct {
	Path  []string `json:"path"`
	Value any      `json:"value"`
}

// operation is what a step does.
type operation string

// The operations.
const (
	changes   operation = "change"    // change the primary
	mistake   operation = "mistake"   // change the primary so that it is wrong, and undo that
	pause     operation = "pause"     // change the primary while it is paused
	drift     operation = "drift"     // change a child
	removal   operation = "removal"   // delete a child
	rebirth   operation = "rebirth"   // delete the primary, and create it again at once
	adoption  operation = "adoption"  // create an object of others that the primary then adopts
	collision operation = "collision" // create an object of others that has the name of a child, and delete it
)
