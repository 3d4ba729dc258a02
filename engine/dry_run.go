package engine

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/dynamic"

	"reconcel/engine/managedfields"
	"reconcel/engine/unwritten"
)

// A DryRun makes an engine that writes nothing: it reconciles, and logs and counts what it would write. It
// takes no Lease, sends no Events, and does not write the inventory.
type DryRun struct {
	// Client returns the client that answers the writes of the engine.
	Client  func(dynamic.Interface) DryRunClient
	Changes *unwritten.Changes
}

// A DryRunClient is a client whose writes have no effect: it answers each as the API server would.
type DryRunClient interface {
	dynamic.Interface
	// Begin returns the context of one reconciliation, and a function that returns those of its
	// writes so far that would change something, each part of an object once.
	Begin(ctx context.Context) (context.Context, func() []unwritten.Change)
}

// A dryRun is the part of an engine that has a DryRun.
type dryRun struct {
	client  DryRunClient
	changes *unwritten.Changes
}

// dryRun replaces the clients with which an engine writes objects and sends Events.
func (s *Dependencies) dryRun(of *DryRun) *dryRun {
	if of == nil {
		return nil
	}
	client := of.Client(s.Client)
	s.Client, s.Sender, s.Events = client, nil, untold{}
	return &dryRun{client, of.Changes}
}

// longRetry is when a dry run looks again at a primary that it would change, if nothing
// happens. No write of its own ends what the primary waits for.
const longRetry = 30 * time.Second

// reconcileDry reconciles a primary from the state of the cluster, and records what that would change. Like a
// Preview, it continues with the answers to its writes while these let it do more. Then it forgets them: the
// next reconciliation starts from the state of the cluster again.
func (e *Engine) reconcileDry(ctx context.Context, req Request) (result Result, err error) {
	ctx, writes := e.dryRun.client.Begin(ctx)
	pl := e.enter()
	defer pl.leave()
	var last *pass
	done := 0
	for range maxRounds {
		p, failed := e.begin(ctx, pl, req)
		if err = failed; p == nil || err != nil {
			break
		}
		last = p
		defer renderings.Put(p.rendering)
		result, err = p.runDry(ctx, writes)
		count := len(writes())
		if count == done || err != nil {
			break
		}
		done = count
	}
	changes := writes()
	news := e.wouldWrite(req, changes)
	if last != nil {
		last.memory.forgetWrites() // Also without changes: a write that changes nothing is answered, too.
	}
	if len(changes) > 0 && !news && result.RequeueAfter > 0 {
		result.RequeueAfter = max(result.RequeueAfter, longRetry)
	}
	return result, err
}

// wouldWrite records and logs changes. It reports whether any of them is new.
func (e *Engine) wouldWrite(req Request, changes []unwritten.Change) bool {
	news := e.dryRun.changes.Replace(req, changes)
	for _, c := range news {
		e.activity.record(e.clock.Now(), logEntry{what: string(c.Action) + " (dry run)", object: req.String(), child: c.Object(), kind: c.Kind})
	}
	return len(news) > 0
}

// runDry is run, but the delay of a report that would be written now stays over: it must
// not begin again at each reconciliation.
func (p *pass) runDry(ctx context.Context, writes func() []unwritten.Change) (Result, error) {
	m := p.memory
	unsettled, unreported := m.unsettled, m.unreported
	result, err := p.run(ctx)
	for _, w := range writes() {
		switch {
		case isStatus(w.Part):
			m.unsettled = unsettled
		case managedfields.IsAnnotationManager(w.Manager):
			m.unreported = unreported
		}
	}
	return result, err
}

func isStatus(p unwritten.Part) bool {
	return p.Subresource == "status" || p.Manager == managedfields.StatusManager
}

// foreseeCleanup records what the cleanup of removed rules would do, as often as the leader tries it,
// until nothing is left.
func (e *Engine) foreseeCleanup(ctx context.Context, pl *plan) {
	for _, r := range pl.orphaned.Removed {
		e.log.Info("rule would be removed", "rule", r.Name, "kind", r.For)
	}
	_ = removalBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		return e.tryForesee(ctx, pl) == 0, nil
	})
}

// tryForesee returns the number of changes that the cleanup wants now.
func (e *Engine) tryForesee(ctx context.Context, pl *plan) (left int) {
	foresee := func(task Request, do func(context.Context) error) {
		ctx, writes := e.dryRun.client.Begin(ctx)
		if err := do(ctx); err != nil {
			e.log.Debug("cleanup not foreseen, will retry", "rule", task.Name, "error", err)
			left++
			return
		}
		changes := writes()
		left += len(changes)
		e.wouldWrite(task, changes)
	}
	for _, f := range pl.orphaned.Finalizers {
		foresee(Request{Kind: f.Primary(), Name: f.Rule}, func(ctx context.Context) error { return e.removeMarks(ctx, pl, f) })
	}
	for _, r := range pl.orphaned.Removed {
		foresee(Request{Kind: r.Primary(), Name: "rule " + r.Name}, func(ctx context.Context) error {
			_, problems := e.tryDeleteRemovedRule(ctx, pl, r)
			if len(problems) > 0 {
				return errors.New(joinFirst(problems))
			}
			return nil
		})
	}
	return left
}

// forgetWrites forgets the answers of a dry run.
func (m *memory) forgetWrites() {
	m.children, m.byID, m.deleted, m.status, m.self, m.patches = nil, nil, nil, writtenStatus{}, nil, nil
}
