package outcome

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/answer"
	"reconcel/engine/events"
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
	Extended  bool // an earlier version of the rule extended it
}

func (e *ConflictError) Error() string {
	if e.Extended {
		return e.Object + " was created by others, and an earlier version of the rule extended it; set ifExists: extend, " +
			"or remove the child first"
	}
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
	ReasonRejected               = events.Rejected
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

	ReasonReconcileRequested = "ReconcileRequested"
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

// The API server's messages end with what a reader needs first: which object, which field, which value, and then why.
// So the cause is repeated in front of them.

// An ExplainedError is an answer of the API server with a cause in words of ours, which may name a remedy.
type ExplainedError struct {
	Cause string
	Err   error
}

func (e *ExplainedError) Error() string { return e.Cause + " (" + e.Err.Error() + ")" }

func (e *ExplainedError) Unwrap() error { return e.Err }

// CauseOf splits an error into its cause and the whole text. The cause is "" if the text begins with it, because its
// words are ours.
func CauseOf(err error) (cause, text string) {
	if explained, ok := errors.AsType[*ExplainedError](err); ok {
		return explained.Cause, explained.Err.Error()
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return causeOfAnswer(status.Status()), err.Error()
	}
	if _, ours := errors.AsType[*TerminalError](err); ours {
		return "", err.Error()
	}
	return lastClause(err.Error()), err.Error()
}

// mostCauses limits how many causes of one answer are repeated.
const mostCauses = 3

// causeOfAnswer returns why the API server rejects a request.
func causeOfAnswer(s metav1.Status) string {
	if s.Reason == metav1.StatusReasonInvalid && s.Details != nil {
		var all []string
		for _, c := range s.Details.Causes {
			cause, _, _ := strings.Cut(causeOfField(c.Message), "\n") // The difference of two objects may follow.
			if cause != "" && !slices.Contains(all, cause) {
				all = append(all, cause)
			}
		}
		if len(all) > 0 {
			slices.Sort(all) // Their order is random.
			return strings.Join(all[:min(len(all), mostCauses)], "; ")
		}
	}
	if at := denial.FindStringIndex(s.Message); at != nil {
		return s.Message[at[1]:]
	}
	return lastClause(s.Message)
}

// denial matches what precedes the reason of a denial, which may be a list with colons, such as an exceeded quota.
var denial = regexp.MustCompile(`^.*? denied (?:the )?request: |^.*? is forbidden: `)

// The messages about a field, as k8s.io/apimachinery/pkg/util/validation/field formats them: a type, for some types a
// value, and why.
var (
	withValue    = regexp.MustCompile(`^(?:Invalid value|Unsupported value|Too many): `)
	withoutValue = regexp.MustCompile(`^(?:Required value|Forbidden|Too long|Internal error): `)
)

// causeOfField returns why the API server rejects a field.
func causeOfField(message string) string {
	if head := withoutValue.FindString(message); head != "" {
		return message[len(head):]
	}
	head := withValue.FindString(message)
	if head == "" {
		return message
	}
	value := message[len(head):]
	if ends := clauses(value); len(ends) > 0 {
		return value[ends[0]:]
	}
	return message
}

// lastClause returns what follows the last colon of a message.
func lastClause(message string) string {
	if starts := clauses(message); len(starts) > 0 {
		return message[starts[len(starts)-1]:]
	}
	return message
}

// clauses returns where the clauses behind colons begin. Colons in quotes and brackets belong to a value.
func clauses(s string) (starts []int) {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(s[i:], ": ") && i+2 < len(s):
			starts = append(starts, i+2)
		}
	}
	return starts
}
