package reconcile

import (
	"reconcel/engine/decide"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// noteRequest forgets what delays writes if the primary asks to be reconciled now, once for each value of its
// annotation. In the first reconciliation since the start, nothing is delayed. Which children are applied once more
// does not depend on that: they say for which request they were applied.
func (p *Pass) noteRequest() {
	if p.Request == "" || p.Request == p.Memory.Requested || p.Rehearses() {
		return
	}
	p.Memory.Requested = p.Request
	if !p.Memory.Reconciled {
		return
	}
	p.Memory.ForgetDelays()
	p.Queue.Forget(p.Req)
	p.Requested, p.Trigger = true, decide.WhyRequested
}

// reportRequest reports that the primary has been reconciled as it asks. reconcel reconcile --wait waits for it.
func (p *Pass) reportRequest() {
	if p.Requested {
		p.Events.Normal(p.Self, outcome.ReasonReconcileRequested,
			"reconciled once more: the annotation "+rules.AnnotationReconcileAt+" is "+p.Request)
	}
}
