package access

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/leader"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
)

// Answers turn errors of the API server into outcomes, and remember rejected writes.
type Answers struct{ *Subject }

// RetryStale returns when to reconcile again because the cache is behind.
func (a *Answers) RetryStale() time.Duration {
	a.Stale = true
	now := a.Clock.Now()
	if a.Memory.StaleSince.IsZero() {
		a.Memory.StaleSince = now
	}
	return min(max(now.Sub(a.Memory.StaleSince), outcome.StaleRetry), outcome.LongestStaleRetry)
}

// OutcomeOf turns an error of the API server into a state, a reason, a message
// and a retry interval.
func (a *Answers) OutcomeOf(err error) outcome.Outcome {
	if err == nil {
		return outcome.Outcome{}
	}
	at, unplaced := outcome.Position{}, err
	if placed, ok := errors.AsType[*outcome.PlacedError](err); ok {
		at, unplaced = placed.At, placed.Err
	}
	became := func(s outcome.State, reason string) outcome.Outcome {
		return outcome.Outcome{State: s, Reason: reason, At: at, Text: unplaced.Error()}
	}
	answered := func(s outcome.State, reason string) outcome.Outcome {
		o := became(s, reason)
		var patience time.Duration
		if s == outcome.Retrying {
			patience = alternation
		}
		cause, text := outcome.CauseOf(unplaced)
		about := reason + " " + at.Key()
		a.Memory.Wordings.Renew(about, attempted{generation: a.Generation(), hash: at.Hash()})
		o.Cause, o.Text = a.Memory.Wordings.Report(about, cause, text, a.Clock.Now(), patience)
		return o
	}
	var conflict *outcome.ConflictError
	var terminal *outcome.TerminalError
	var contested *decide.ConflictLoopError
	var sharing *decide.SharingError
	switch {
	case errors.Is(err, decide.ErrStale):
		a.Metrics.CountError("Stale")
		return became(outcome.Progressing, outcome.ReasonProgressing).After(a.RetryStale())
	case errors.As(err, &conflict):
		a.Metrics.CountError(outcome.ReasonResourceExists)
		return became(outcome.Stalled, outcome.ReasonResourceExists).After(outcome.ConflictRetry)
	case errors.As(err, &sharing) && sharing.Patient > 0:
		return became(outcome.Waiting, outcome.ReasonWaiting).After(sharing.Patient)
	case errors.As(err, &sharing):
		a.Metrics.CountError(outcome.ReasonSharedDifferently)
		return became(outcome.Stalled, outcome.ReasonSharedDifferently).After(outcome.Jitter(outcome.RefusedRetry, a.Random))
	case errors.As(err, &contested):
		a.Metrics.CountError(outcome.ReasonContested)
		return became(outcome.Stalled, outcome.ReasonContested).After(contested.Wait)
	case errors.As(err, &terminal):
		a.Metrics.CountError(terminal.Reason)
		s := outcome.Stalled
		if terminal.Reason == outcome.ReasonRetrying {
			s = outcome.Retrying
		}
		return answered(s, terminal.Reason).After(outcome.Jitter(terminal.Retry, a.Random))
	case outcome.IsForbidden(err): // From a read: ClassifyAnswer handles writes.
		unplaced = outcome.Permission(unplaced)
		return answered(outcome.Stalled, outcome.ReasonForbidden).After(outcome.Jitter(outcome.ForbiddenRetry, a.Random))
	}
	o := answered(outcome.Retrying, outcome.ReasonRetrying)
	o.Err = err
	switch postponed, is := errors.AsType[*outcome.PostponedError](err); {
	case is:
		return o.After(postponed.Rest)
	case apierrors.IsConflict(err):
		a.Metrics.CountError("Conflict")
	default:
		a.Metrics.CountError(outcome.ReasonRetrying)
	}
	return o
}

// NoteRejection records an error if it is a rejection, or a failure whose repetition is left to the backoff. It returns
// the error to report, which stays the same as long as the rejection is valid.
func (a *Answers) NoteRejection(last **rejectedWrite, hash [16]byte, version string, err error) error {
	before, now := *last, a.Clock.Now()
	*last = nil
	if err == nil {
		return nil
	}
	terminal, rejected := errors.AsType[*outcome.TerminalError](err)
	r := &rejectedWrite{Hash: hash, version: version, generation: a.Self.GetGeneration(), schemas: a.SchemaChanges.Load()}
	if !rejected {
		if isRetried(err) {
			if before != nil && before.Hash == hash && before.generation == r.generation {
				r.failures = before.failures + 1
			}
			r.Err, r.until = err, now.Add(outcome.Backoff(r.failures))
			*last = r
		}
		return err
	}
	if terminal.Reason == outcome.ReasonForbidden {
		if r.denied = now; before != nil && !before.denied.IsZero() {
			r.denied = before.denied
		}
		terminal = a.denied(terminal, r.denied, now)
	}
	r.Err = terminal
	// Less than the retry interval, so that the next reconciliation sends the
	// write again.
	r.until = now.Add(terminal.Retry * 3 / 4)
	*last = r
	return terminal
}

// DeletionStands returns the error of the last deletion of an object if the same one
// would be rejected again, or is left to the backoff.
func (a *Answers) DeletionStands(o *watch.Object) error {
	return a.Memory.Undeleted[o.GetUID()].Stands(a.Subject, [16]byte{}, o.GetResourceVersion())
}

// NoteDeletion is NoteRejection for the deletion of an object.
func (a *Answers) NoteDeletion(o *watch.Object, err error) error {
	last := a.Memory.Undeleted[o.GetUID()]
	err = a.NoteRejection(&last, [16]byte{}, o.GetResourceVersion(), err)
	if last == nil {
		delete(a.Memory.Undeleted, o.GetUID())
		return err
	}
	if a.Memory.Undeleted == nil {
		a.Memory.Undeleted = map[types.UID]*rejectedWrite{}
	}
	a.Memory.Undeleted[o.GetUID()] = last
	return err
}

// denied returns the error to report for a missing permission. An API server
// that has just restarted denies all requests for some seconds, until it has
// read its roles. So a denial is an error only when it lasts.
func (a *Answers) denied(err *outcome.TerminalError, since, now time.Time) *outcome.TerminalError {
	if now.Sub(since) < watch.DeniedPatience && now.Sub(a.Started) > watch.DeniedPatience {
		return &outcome.TerminalError{Reason: outcome.ReasonRetrying, Retry: outcome.DeniedRetry, Err: err.Err}
	}
	return err
}

// isRetried reports whether only time tells whether the repetition of a failed write helps. What is missing may appear
// with an event, and a write that is stale or not sent did not fail.
func isRetried(err error) bool {
	return !errors.Is(err, decide.ErrStale) && !apierrors.IsConflict(err) && !answer.IsAbsent(err) &&
		!outcome.NamespaceEnds(err) && !errors.Is(err, watch.ErrNotListed) && !errors.Is(err, leader.ErrNotLeading)
}

// A rejectedWrite is a write that the API server has rejected, or that has failed. The same body is
// not sent again before the retry interval ends, unless the object, the primary
// or a schema changes. Otherwise hundreds of events could repeat the write, each
// with a slightly different error message.
type rejectedWrite struct {
	Err        error
	Hash       [16]byte // of the body
	version    string   // resourceVersion of the live object; "": it did not exist
	generation int64    // of the primary
	schemas    int64    // Engine.SchemaChanges
	until      time.Time
	failures   int       // that came before, of the same body for the same generation
	denied     time.Time // since when a permission is missing; zero: another error
}

// Stands returns the error of the last write if the same body would be rejected
// again. A nil r means that the last write was accepted. A change of the object may end
// a rejection, but not a failure: its status may change all the time.
func (r *rejectedWrite) Stands(p *Subject, hash [16]byte, version string) error {
	if r == nil || r.Hash != hash || (r.version == "") != (version == "") || r.generation != p.Self.GetGeneration() ||
		r.schemas != p.SchemaChanges.Load() || !p.Clock.Now().Before(r.until) {
		return nil
	}
	if _, rejected := errors.AsType[*outcome.TerminalError](r.Err); rejected {
		if r.version != version {
			return nil
		}
		return r.Err
	}
	return &outcome.PostponedError{Err: r.Err, Rest: r.until.Sub(p.Clock.Now())}
}

// Repeats reports whether a write is the one that was rejected or failed. Its repetition is no other repair or change.
func (r *rejectedWrite) Repeats(hash [16]byte) bool { return r != nil && r.Hash == hash }

// A Failure is an attempt to create an object that failed. A nil Failure means that none has failed since the last
// creation.
type Failure struct {
	at   time.Time
	hash [16]byte // of the body
	err  error
}

// NewFailure returns the failure of an attempt that was just made.
func (a *Answers) NewFailure(hash [16]byte, err error) *Failure {
	return &Failure{a.Clock.Now(), hash, err}
}

// At returns when the attempt was made, or the zero time.
func (f *Failure) At() time.Time {
	if f == nil {
		return time.Time{}
	}
	return f.at
}

// Standing returns the error of an attempt with the same body, which is true until the next attempt, or nil.
func (f *Failure) Standing(hash [16]byte) error {
	if f == nil || f.hash != hash || errors.Is(f.err, decide.ErrStale) {
		return nil
	}
	return &outcome.PostponedError{Err: f.err}
}

// ShareBackoff gives writes that are repeated one at a time the same number of failures.
func ShareBackoff(of []*Written) {
	most := 0
	for _, w := range of {
		most = max(most, w.Rejected.failures)
	}
	for _, w := range of {
		w.Rejected.failures = most
	}
}
