package outcome

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/answer"
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

// Reasons of conditions and Events.
const (
	ReasonReconciled             = "Reconciled"
	ReasonProgressing            = "Progressing"
	ReasonWaiting                = "Waiting"
	ReasonRetrying               = "Retrying"
	ReasonResourceExists         = "ErrResourceExists"
	ReasonSharedDifferently      = "SharedDifferently" // owners of a shared object render it differently
	ReasonForbidden              = "Forbidden"
	ReasonRejected               = "Rejected"
	ReasonContested              = "Contested"
	ReasonChildFailed            = "ChildFailed"
	ReasonSynced                 = "Synced"
	ReasonRecovered              = "Recovered"
	ReasonRepaired               = "Repaired"
	ReasonKept                   = "Kept"
	ReasonOrphaned               = "Orphaned"
	ReasonUndecided              = "Undecided"
	ReasonPruned                 = "Pruned"
	ReasonRulesInvalid           = "RulesInvalid"
	ReasonRulesInvalidForCluster = "RulesInvalidForCluster"
	// The objects of a rule belong to another installation.
	ReasonInstallationConflict = "InstallationConflict"
	ReasonRuleRemoved          = "RuleRemoved"
	ReasonHeld                 = "TooManyDeletions"
	ReasonRolloutStopped       = "RolloutStopped"
	ReasonReplaced             = "Replaced"
	ReasonAdopted              = "Adopted"

	ReasonFinalizing      = "Finalizing"
	ReasonFinalizeTimeout = "FinalizeTimeout"
	ReasonFinalizeSkipped = "FinalizeSkipped"
	ReasonDeleting        = "Deleting"
	ReasonNamespaceEnding = "NamespaceTerminating"
	ReasonPaused          = "Paused"
	ReasonPauseIgnored    = "PauseIgnored"
	ReasonResumed         = "Resumed"
)

// Types of the conditions that every custom resource with conditions gets. All but
// Ready are present only while they are True, as kstatus requires.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
	ConditionKept        = "Kept" // objects that no rule renders are not deleted
	ConditionHeld        = "Held" // a changed rule does not take effect
)

// Retry intervals for problems whose end sends no event to a watch.
const (
	ConflictRetry   = 5 * time.Second  // the deletion of a foreign object sends no event
	ForbiddenRetry  = 30 * time.Second // granting a permission sends no event
	RefusedRetry    = 2 * time.Minute
	TerminatingWait = 5 * time.Second
)

// While the cache is behind, a primary is reconciled again after as long as it has been behind,
// but at least StaleRetry and at most LongestStaleRetry later. Normally an event comes before.
const (
	StaleRetry        = 200 * time.Millisecond
	LongestStaleRetry = 5 * time.Second
)

// UnshownRetry is when to look again for an object that the cache does not show after
// its creation. If another writer deletes it while the watch lists again, no event says
// that it is missing.
const UnshownRetry = 2 * time.Second

// DeniedRetry is the first retry interval of a write without permission.
const DeniedRetry = 4 * time.Second

// RetryBackoff returns the delays of a failed step that belongs to no primary.
func RetryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
}

// A Problem is the last error of a task that is retried. The zero value is a task without one.
type Problem struct{ shape string }

// IsNews notes the result of an attempt, and reports whether it is an error that the attempt before did not have, see
// answer.Shape.
func (p *Problem) IsNews(err error) bool {
	before := p.shape
	if p.shape = ""; err != nil {
		p.shape = answer.Shape(err.Error())
	}
	return p.shape != "" && p.shape != before
}

// Delays of a failed request or write: 40 ms, doubled at each failure up to 24 seconds.
const (
	FirstRetry = 40 * time.Millisecond
	LastRetry  = 24 * time.Second
)

// Backoff returns the shortest delay after a failure that follows so many others, see Jitter.
func Backoff(before int) time.Duration {
	const most = 20 // Larger shifts would overflow.
	return shortest(min(LastRetry, FirstRetry<<min(before, most)))
}

// jitterRange is the largest part of a delay by which Jitter changes it.
const jitterRange = 0.2

func shortest(d time.Duration) time.Duration { return time.Duration(float64(d) * (1 - jitterRange)) }

// Jitter changes a delay by up to 20 % in both directions.
func Jitter(d time.Duration, random func() float64) time.Duration {
	return time.Duration(float64(d) * (1 - jitterRange + 2*jitterRange*random()))
}

// Sleep waits, or returns early if ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
