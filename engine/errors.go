package engine

import (
	"fmt"
	"time"
)

// A terminalError does not go away by repeating the request: the object or the rules
// must change. It is still retried after a delay, because a permission or a quota
// can be granted without an event that we see.
type terminalError struct {
	reason string // for the Stalled condition and the Event
	retry  time.Duration
	err    error
}

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// A conflictError means that another owner holds a name that we need.
type conflictError struct {
	object    string // Kind/namespace/name
	holder    string
	adoptable bool // the rule could take it over
}

func (e *conflictError) Error() string {
	remedy := "delete or rename it"
	if e.adoptable {
		remedy += ", or set ifExists: adopt"
	}
	return fmt.Sprintf("%s already exists, %s; %s", e.object, e.holder, remedy)
}
