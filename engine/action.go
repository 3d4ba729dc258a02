package engine

// An Action is what reconcel does about an object, in kubectl's words.
type Action string

// The actions.
const (
	Unchanged  Action = "unchanged"
	Created    Action = "created"
	Configured Action = "configured"
	Replaced   Action = "replaced" // deleted, to be created again
	Deleted    Action = "deleted"
	Adopted    Action = "adopted"
	Skipped    Action = "skipped" // it waits for something

	// The API server rejects the write, or somebody else holds the name.
	Refused Action = "rejected"
	// The rule fails for the primary, which becomes Stalled.
	Failed Action = "failed"
)

// IsDifference reports whether the action changes the object.
func (a Action) IsDifference() bool {
	return a != Skipped && a != Unchanged && !a.IsTrouble()
}

// IsTrouble reports whether the rules do not get what they want.
func (a Action) IsTrouble() bool { return a == Refused || a == Failed }
