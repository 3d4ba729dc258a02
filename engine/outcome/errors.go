package outcome

import (
	"errors"
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

// A PostponedError is the error of a write that failed, and that is not repeated before its backoff has passed.
type PostponedError struct {
	Err  error
	Rest time.Duration // of the backoff
}

func (e *PostponedError) Error() string { return e.Err.Error() }

func (e *PostponedError) Unwrap() error { return e.Err }

// isPostponed reports whether an error is not that of a request of this reconciliation.
func isPostponed(err error) bool {
	_, postponed := errors.AsType[*PostponedError](err)
	return postponed
}

// firstError returns the first of two errors, unless only the second one is that of a request of this reconciliation.
func firstError(a, b error) error {
	if a == nil || b != nil && isPostponed(a) {
		return b
	}
	return a
}

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
