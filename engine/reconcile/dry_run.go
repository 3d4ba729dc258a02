package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
)

// reconcileDry reconciles a primary from the state of the cluster, and records what that would change. Like a
// Preview, it continues with the answers to its writes while these let it do more. Then it forgets them: the
// next reconciliation starts from the state of the cluster again.
func (e *Reconciler) reconcileDry(ctx context.Context, req ident.Request) (result outcome.Result, err error) {
	ctx, writes := e.DryRun.Begin(ctx)
	pl, place := e.Enter(req)
	defer pl.Leave(place)
	var last *Pass
	done := 0
	for range MaxRounds {
		p, failed := e.Begin(ctx, pl, req)
		if err = failed; p == nil || err != nil {
			break
		}
		last = p
		defer p.Release()
		result, err = p.runDry(ctx, writes)
		count := len(writes())
		if count == done || err != nil {
			break
		}
		done = count
	}
	changes := writes()
	news := e.WouldWrite(req, changes)
	if last != nil {
		last.Memory.ForgetWrites() // Also without changes: a write that changes nothing is answered, too.
	}
	if len(changes) > 0 && !news && result.RequeueAfter > 0 {
		result.RequeueAfter = max(result.RequeueAfter, decide.LongRetry)
	}
	return result, err
}

// WouldWrite records and logs changes. It reports whether any of them is new.
func (e *Reconciler) WouldWrite(req ident.Request, changes []plan.UnsentWrite) bool {
	news := e.DryRun.Replace(req, changes)
	for _, c := range news {
		e.Activity.Record(e.Clock.Now(), access.LogEntry{What: string(c.Action) + " (dry run)", Object: req.String(),
			Child: c.Object(), Kind: c.Kind})
	}
	return len(news) > 0
}

// runDry is run, but the delay of a report that would be written now stays over: it must
// not begin again at each reconciliation.
func (p *Pass) runDry(ctx context.Context, writes func() []plan.UnsentWrite) (outcome.Result, error) {
	m := p.Memory
	unsettled, unreported := m.Unsettled, m.Unreported
	result, err := p.Run(ctx)
	for _, w := range writes() {
		switch {
		case w.Part.Subresource == "status" || w.Part.Manager == managedfields.StatusManager:
			m.Unsettled = unsettled
		case managedfields.IsAnnotationManager(w.Manager):
			m.Unreported = unreported
		}
	}
	return result, err
}

// MaxRounds limits how often a Preview reconciles one primary again. A chain of
// children that read each other needs one round for each.
const MaxRounds = 32

// Untold discards Events.
type Untold struct{}

// Record implements EventRecorder.
func (Untold) Record(corev1.ObjectReference, string, string, string, string) {}
