package outcome

// An Action is what reconcel does to an object, in kubectl's words.
type Action string

// The actions.
const (
	Unchanged  Action = "unchanged"
	Created    Action = "created"
	Configured Action = "configured"
	Replaced   Action = "replaced" // deleted, then created again
	Deleted    Action = "deleted"
	Adopted    Action = "adopted"
	Shared     Action = "shared"  // the primary became one of its owners, or says that it renders it differently
	Left       Action = "left"    // the primary is no longer one of its owners
	Skipped    Action = "skipped" // waiting for something

	// The API server rejects the write, or another owner holds the name.
	Rejected Action = "rejected"
	// The rule fails for the primary, which becomes Stalled.
	Failed Action = "failed"
)

// IsDifference reports whether the action changes the object.
func (a Action) IsDifference() bool {
	return a != Skipped && a != Unchanged && !a.IsTrouble()
}

// IsTrouble reports whether the action is a failure.
func (a Action) IsTrouble() bool { return a == Rejected || a == Failed }
