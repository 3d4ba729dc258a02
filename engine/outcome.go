package engine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/rules"
)

// An outcome is the result for one child, one rule or one primary. The zero
// value means ready.
type outcome struct {
	state  state
	reason string
	at     position
	cause  string // comes before the position; "": the text begins with it
	text   string
	named  bool // the text already names the position

	retry  time.Duration // until the next reconciliation; 0: when something changes
	err    error         // the first error that is retried with backoff
	failed bool          // an object could not be written
	kept   []keptObject
}

// after requests the next reconciliation after at most d; 0 requests none.
func (o outcome) after(d time.Duration) outcome {
	if d > 0 && (o.retry == 0 || d < o.retry) {
		o.retry = d
	}
	return o
}

// quietly returns an outcome that keeps the retry but reports nothing.
func (o outcome) quietly() outcome {
	return outcome{retry: o.retry, err: o.err, kept: o.kept}
}

func (o outcome) result() (Result, error) { return Result{RequeueAfter: o.retry}, o.err }

// A position is the place in the rules that an outcome concerns.
type position struct {
	rule    string         // "": the text names it
	subject string         // the child, such as child "web"[2], or "patch"; "": the rule as a whole
	object  *rules.Desired // formatted only on demand, because most outcomes are never printed
}

func positionOf(rule *rules.Rule, d *rules.Desired) position {
	return position{rule: rule.Name, object: d}
}

func (at position) about() string {
	if at.object != nil {
		return at.object.Subject() + at.subject
	}
	return at.subject
}

func (at position) prefix() string {
	switch {
	case at.rule == "":
		return ""
	case at.about() == "":
		return fmt.Sprintf("rule %q: ", at.rule)
	}
	return fmt.Sprintf("rule %q, %s: ", at.rule, at.about())
}

// id returns the subject as in the log: web[2], or patch.
func (at position) id() string {
	return strings.NewReplacer("child ", "", `"`, "").Replace(at.about())
}

func (at position) says(s state, reason, format string, args ...any) outcome {
	return outcome{state: s, reason: reason, at: at, text: fmt.Sprintf(format, args...)}
}

func (at position) wrap(err error) error { return &placedError{at, at.prefix(), err} }

// A placedError is an error with the position in the rules that it concerns. It may be
// printed after the reconciliation, when the rendering that the position points to
// serves another one.
type placedError struct {
	at     position
	prefix string
	err    error
}

func (e *placedError) Error() string { return e.prefix + e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// A state orders outcomes from good to bad.
type state int

const (
	ready       state = iota
	progressing       // applied, not ready yet
	waiting           // for something that does not exist yet
	retrying          // after an error that may be temporary
	stalled           // until the object, the rules or the cluster change
	paused            // by an annotation

	states // the number of states
)

// String returns the state as in the metrics.
func (s state) String() string {
	return [states]string{"ready", "progressing", "waiting", "retrying", "stalled", "paused"}[s]
}

// moving reports whether a state is expected to change by itself.
func (s state) moving() bool { return s == progressing || s == waiting || s == retrying }

// worse merges two outcomes. The message is that of the worse outcome, or of
// the first if both are equally bad.
func worse(a, b outcome) outcome {
	worst := a
	if b.state > a.state {
		worst = b
	}
	worst.err, worst.failed, worst.kept = cmp.Or(a.err, b.err), a.failed || b.failed, append(a.kept, b.kept...)
	return worst.after(a.retry).after(b.retry)
}

// worseOfBoth is like worse, but joins the messages of two stalled outcomes.
func worseOfBoth(a, b outcome) outcome {
	if a.state == stalled && b.state == stalled {
		a.at, a.cause, a.named, a.text = position{}, "", true, truncate(a.message()+"; "+b.message(), mostFailure)
	}
	return worse(a, b)
}

func (at position) failed(f *rules.Failure) outcome {
	return outcome{state: stalled, reason: string(f.Reason), at: at, text: truncate(f.Message, mostFailure), named: true}
}

// outcomeOf turns an error of the API server into a state, a reason, a message
// and a retry interval.
func (p *pass) outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	at, unplaced := position{}, err
	if placed, ok := errors.AsType[*placedError](err); ok {
		at, unplaced = placed.at, placed.err
	}
	became := func(s state, reason string) outcome {
		return outcome{state: s, reason: reason, at: at, text: unplaced.Error()}
	}
	answered := func(s state, reason string) outcome {
		o := became(s, reason)
		o.cause, o.text = causeOf(unplaced)
		return o
	}
	var conflict *conflictError
	var terminal *terminalError
	var contested *conflictLoopError
	var sharing *sharingError
	switch {
	case errors.Is(err, errStale):
		p.engine.metrics.countError("Stale")
		return became(progressing, reasonProgressing).after(p.retryStale())
	case errors.As(err, &conflict):
		p.engine.metrics.countError(reasonResourceExists)
		return became(stalled, reasonResourceExists).after(conflictRetry)
	case errors.As(err, &sharing) && sharing.patient > 0:
		return became(waiting, reasonWaiting).after(sharing.patient)
	case errors.As(err, &sharing):
		p.engine.metrics.countError(reasonSharedDifferently)
		return became(stalled, reasonSharedDifferently).after(jitter(refusedRetry, p.engine.random))
	case errors.As(err, &contested):
		p.engine.metrics.countError(reasonContested)
		return became(stalled, reasonContested).after(contested.wait)
	case errors.As(err, &terminal):
		p.engine.metrics.countError(terminal.reason)
		s := stalled
		if terminal.reason == reasonRetrying {
			s = retrying
		}
		return answered(s, terminal.reason).after(jitter(terminal.retry, p.engine.random))
	case isForbidden(err): // From a read: classifyAnswer handles writes.
		unplaced = permission(unplaced)
		return answered(stalled, reasonForbidden).after(jitter(forbiddenRetry, p.engine.random))
	}
	if apierrors.IsConflict(err) {
		p.engine.metrics.countError("Conflict")
	} else {
		p.engine.metrics.countError(reasonRetrying)
	}
	o := answered(retrying, reasonRetrying)
	o.err = err
	return o
}
