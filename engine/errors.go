package engine

import (
	"fmt"
	"time"
)

// A terminalError cannot be mended by trying the same again: the object or
// the rules must change. It is still looked at after retry, because a missing
// permission or an exceeded quota is granted without any change that we see.
type terminalError struct {
	reason string // for the Stalled condition and the Event
	retry  time.Duration
	err    error
}

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// A conflictError says that a name we want is held by somebody else.
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
