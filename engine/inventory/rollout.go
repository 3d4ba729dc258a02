package inventory

// A Rollout is the state of a change that reaches the primaries of one kind in waves.
type Rollout struct {
	To    string       `json:"to"` // identifies the new version
	State RolloutState `json:"state"`
	// Reached is the part of all primaries that has the new version: those whose Position
	// is smaller.
	Reached uint64 `json:"reached,string"`
	Message string `json:"message,omitempty"`
	// Updated and Resources are the numbers of primaries that the last step reached, and of all.
	Updated   int `json:"updated"`
	Resources int `json:"resources"`
}

// A RolloutState says whether a rollout goes on.
type RolloutState string

// The states of a rollout.
const (
	Progressing RolloutState = "Progressing"
	Paused      RolloutState = "Paused"   // by a user
	Failed      RolloutState = "Failed"   // a primary is stalled
	Undone      RolloutState = "Undone"   // no primary has the new version
	Complete    RolloutState = "Complete" // all primaries have it
)
