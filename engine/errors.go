package engine

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	object string // Kind/namespace/name
	holder string
}

func (e *conflictError) Error() string {
	return fmt.Sprintf("%s exists and is %s; it is left alone, remove or rename it", e.object, e.holder)
}

// How long until a look at what cannot heal by an event of ours.
const (
	conflictRetry   = 5 * time.Second  // a foreign object's end sends us no event
	forbiddenRetry  = 30 * time.Second // nor does the grant of a permission
	refusedRetry    = 2 * time.Minute
	terminatingWait = 5 * time.Second
)

// Reasons of conditions and Events.
const (
	reasonReconciled     = "Reconciled"
	reasonProgressing    = "Progressing"
	reasonWaiting        = "Waiting"
	reasonRetrying       = "Retrying"
	reasonResourceExists = "ErrResourceExists"
	reasonForbidden      = "Forbidden"
	reasonRefused        = "Refused"
	reasonContested      = "Contested"
	reasonSynced         = "Synced"
	reasonPruned         = "Pruned"
)

var secrets = schema.GroupKind{Kind: "Secret"}

// discreet takes the message out of an error about a Secret: the API server
// quotes what it refuses. The fields that it names are kept.
func discreet(gk schema.GroupKind, err error) error {
	var status apierrors.APIStatus
	if gk != secrets || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	var fields []string
	if s.Details != nil {
		details := *s.Details
		details.Causes = make([]metav1.StatusCause, 0, len(s.Details.Causes))
		for _, c := range s.Details.Causes {
			fields = append(fields, c.Field)
			details.Causes = append(details.Causes, metav1.StatusCause{Type: c.Type, Field: c.Field})
		}
		s.Details = &details
	}
	s.Message = fmt.Sprintf("the API server answered %d %s %v (its message is withheld: it may quote the Secret)", s.Code, s.Reason, fields)
	return &apierrors.StatusError{ErrStatus: s}
}

// refused classifies what the API server answered to a write. What comes back
// unchanged is transient and tried again with backoff.
//
// A body that does not fit the schema (wrong type, unknown field, duplicate
// key) comes back from an apply as 500 without a reason: measured, and as
// permanent as a 422.
func refused(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case s.Code == http.StatusForbidden || s.Code == http.StatusUnauthorized:
		return &terminalError{reasonForbidden, forbiddenRetry, err}
	case s.Code == http.StatusUnprocessableEntity, s.Code == http.StatusBadRequest,
		s.Code == http.StatusRequestEntityTooLarge, s.Code == http.StatusMethodNotAllowed,
		s.Code == http.StatusInternalServerError && s.Reason == "":
		return &terminalError{reasonRefused, refusedRetry, err}
	}
	return err
}
