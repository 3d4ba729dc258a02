package engine

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/rules"
)

// An outcome is what became of one child, one rule or one primary; the zero
// value means that it is ready.
type outcome struct {
	state   state
	reason  string
	message string
}

// A state orders outcomes from good to bad.
type state int

const (
	ready       state = iota
	progressing       // applied, and on its way
	waiting           // for something that is not there yet
	retrying          // after an error that may pass
	stalled           // until the object, the rules or the cluster change
	paused            // because people want it so

	states // how many there are
)

// String is the state as metrics show it.
func (s state) String() string {
	return [states]string{"ready", "progressing", "waiting", "retrying", "stalled", "paused"}[s]
}

// moving reports whether a state is on its way to another one.
func (s state) moving() bool { return s == progressing || s == waiting || s == retrying }

// worse returns the outcome that people should hear of; the first of equals.
func worse(a, b outcome) outcome {
	if b.state > a.state {
		return b
	}
	return a
}

// both is worse, with the words of both where nothing can be done about either.
func both(a, b outcome) outcome {
	if a.state == stalled && b.state == stalled {
		a.message = limited(a.message+"; "+b.message, mostFailure)
	}
	return worse(a, b)
}

func failed(f *rules.Failure) outcome {
	return outcome{state: stalled, reason: string(f.Reason), message: limited(f.Message, mostFailure)}
}

// outcomeOf turns an error of the API server into what people see of it, and
// into the retry that fits it.
func (p *pass) outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	var conflict *conflictError
	var terminal *terminalError
	var contested *contestedError
	switch {
	case errors.Is(err, errStale):
		p.engine.metrics.setback("Stale")
		p.again(staleRetry)
		return outcome{state: progressing, reason: reasonProgressing, message: err.Error()}
	case errors.As(err, &conflict):
		p.engine.metrics.setback(reasonResourceExists)
		p.again(conflictRetry)
		return outcome{state: stalled, reason: reasonResourceExists, message: err.Error()}
	case errors.As(err, &contested):
		p.engine.metrics.setback(reasonContested)
		p.again(contested.wait)
		return outcome{state: stalled, reason: reasonContested, message: err.Error()}
	case errors.As(err, &terminal):
		p.engine.metrics.setback(terminal.reason)
		p.again(jitter(terminal.retry, p.engine.random))
		return outcome{state: stalled, reason: terminal.reason, message: shorten(err.Error())}
	case isForbidden(err): // A read: writes are classified where they are made.
		p.again(jitter(forbiddenRetry, p.engine.random))
		return outcome{state: stalled, reason: reasonForbidden, message: shorten(err.Error())}
	}
	if apierrors.IsConflict(err) {
		p.engine.metrics.setback("Conflict")
	} else {
		p.engine.metrics.setback(reasonRetrying)
	}
	p.fail(err)
	return outcome{state: retrying, reason: reasonRetrying, message: shorten(err.Error())}
}

// readiness says how the live child is doing.
func readiness(rule *rules.Rule, d *rules.Desired) outcome {
	message := func() string {
		which := d.Subject()
		if d.Child.Many() {
			which += " " + name(d.Identity.GVK.Kind, d.Identity.Namespace, d.Identity.Name)
		}
		return fmt.Sprintf("rule %q, %s: %s", rule.Name, which, d.Reason)
	}
	switch d.Readiness {
	case rules.Ready:
		return outcome{}
	case rules.Stalled:
		return outcome{state: stalled, reason: "ChildFailed", message: message()}
	}
	return outcome{state: progressing, reason: reasonProgressing, message: message()}
}

// shorten keeps a message from the API server, which may list many causes,
// within what is good to read in a condition.
func shorten(s string) string { return limited(s, 512) }

// mostFailure is within what the API server takes of a condition's message, with
// room for what is put around it: many fields may fail at once.
const mostFailure = 30_000

func limited(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// list joins the things waited for.
func list(items []string) string {
	const most = 5
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
	}
	return strings.Join(items, ", ")
}
