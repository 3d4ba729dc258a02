package outcome

import (
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A TerminalError does not go away by repeating the request: the object or the rules
// must change. It is still retried after a delay, because a permission or a quota
// can be granted without an event that we see.
type TerminalError struct {
	Reason string // for the Stalled condition and the Event
	Retry  time.Duration
	Err    error
}

func (e *TerminalError) Error() string { return e.Err.Error() }

func (e *TerminalError) Unwrap() error { return e.Err }

// A ConflictError means that another owner holds a name that we need.
type ConflictError struct {
	Object    string // Kind/namespace/name
	Holder    string
	Adoptable bool // the rule could take it over
}

func (e *ConflictError) Error() string {
	remedy := "delete or rename it"
	if e.Adoptable {
		remedy += ", or set ifExists: adopt"
	}
	return fmt.Sprintf("%s already exists, %s; %s", e.Object, e.Holder, remedy)
}

// LostVersion matches the API server's answer to an apply to an object that has an entry of
// managedFields in a version that its CRD does not have.
var LostVersion = regexp.MustCompile(`request to convert CR to an invalid group/version: (\S+)`)

// A LostVersionError is an API server's answer to which reconcel cannot put an end.
type LostVersionError struct{ Answer error }

// Error implements error.
func (e *LostVersionError) Error() string { return e.Answer.Error() }

// Unwrap returns the answer.
func (e *LostVersionError) Unwrap() error { return e.Answer }

// NamespaceEnds reports whether the API server rejects new objects because the
// namespace is being deleted.
func NamespaceEnds(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
