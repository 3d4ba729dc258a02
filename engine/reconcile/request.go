package reconcile

import (
	"time"

	"reconcel/engine/decide"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// noteRequest forgets what delays writes if the primary asks to be reconciled now, once for each value of its
// annotation. In the first reconciliation since the start, nothing is delayed. Which children are applied once more
// does not depend on that: they say for which request they were applied. A writer that asks without end is delayed like
// a rendering that changes: until the returned delay has passed, the request before is the one that counts.
func (p *Pass) noteRequest() (wait time.Duration) {
	if p.Request == "" || p.Request == p.Memory.Requested || p.Rehearses() {
		return 0
	}
	if wait = p.Memory.Requests.Change(p.Clock.Now()); wait > 0 {
		p.Request = p.Memory.Requested
		return wait
	}
	p.Memory.Requested = p.Request
	if !p.Memory.Reconciled {
		return 0
	}
	p.Memory.ForgetDelays()
	p.Queue.Forget(p.Req)
	p.Requested, p.Trigger = true, decide.WhyRequested
	return 0
}

// reportRequest reports that the primary has been reconciled as it asks. reconcel reconcile --wait waits for it.
func (p *Pass) reportRequest() {
	if p.Requested {
		p.Events.Normal(p.Self, outcome.ReasonReconcileRequested,
			"reconciled once more: the annotation "+rules.AnnotationReconcileAt+" is "+p.Request)
	}
}
