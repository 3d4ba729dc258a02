package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/managedfields"
	"reconcel/engine/shadow"
	"reconcel/rules"
)

// A Shadow makes an engine that writes nothing. It reconciles beside the leader of the same
// installation, and its Ledger has what it would have done: it takes no Lease, sends no Events,
// and does not write the inventory.
type Shadow struct {
	// Pretend returns the client that answers the writes of the engine.
	Pretend func(dynamic.Interface) Pretender
	Ledger  *shadow.Ledger
}

// A Pretender is a client whose writes have no effect: it answers each as the API server would.
type Pretender interface {
	dynamic.Interface
	// Begin returns the context of one reconciliation, and a function that returns those of its
	// writes so far that would change something, each part of an object once.
	Begin(ctx context.Context) (context.Context, func() []shadow.Change)
}

// A shadowing is the part of an engine that has a Shadow.
type shadowing struct {
	client Pretender
	ledger *shadow.Ledger
}

// pretend replaces everything by which an engine acts on the outside world.
func (s *Dependencies) pretend(of *Shadow) *shadowing {
	if of == nil {
		return nil
	}
	client := of.Pretend(s.Client)
	s.Client, s.Sender, s.Events = client, nil, untold{}
	return &shadowing{client, of.Ledger}
}

// activityLog returns the log of actions. A shadow logs what it wants itself.
func activityLog(options Options) *slog.Logger {
	if options.Shadow != nil {
		return slog.New(slog.DiscardHandler)
	}
	return options.Log
}

// longRetry is when a shadow looks again at a primary that it wants to change, if nothing
// happens. No write of its own ends what the primary waits for.
const longRetry = 30 * time.Second

// reconcileShadow reconciles a primary from the state of the cluster, and records in the ledger what
// that would change. Like a Preview, it continues with the answers to its writes while these let it do
// more. Then it forgets them: the next reconciliation starts from the state of the cluster again.
func (e *Engine) reconcileShadow(ctx context.Context, req Request) (result Result, err error) {
	ctx, writes := e.shadow.client.Begin(ctx)
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
		result, err = p.runShadow(ctx, writes)
		count := len(writes())
		if count == done || err != nil {
			break
		}
		done = count
	}
	changes := writes()
	if last == nil && len(changes) == 0 && err == nil && req.Kind != rules.BundleKind.GroupKind() {
		e.shadow.ledger.Gone(req, e.clock.Now())
		return result, nil
	}
	news := e.shadow.ledger.Reconciled(req, shadow.Outcome{Changes: changes, Exists: last.exists}, e.clock.Now())
	if last != nil {
		last.memory.forgetWrites() // Also without changes: a write that changes nothing is answered, too.
	}
	if len(changes) > 0 && !news && result.RequeueAfter > 0 {
		result.RequeueAfter = max(result.RequeueAfter, longRetry)
	}
	return result, err
}

// runShadow is run, but the delay of a report that the shadow would write now stays over: it must
// not begin again at each reconciliation.
func (p *pass) runShadow(ctx context.Context, writes func() []shadow.Change) (Result, error) {
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

func isStatus(p shadow.Part) bool {
	return p.Subresource == "status" || p.Manager == managedfields.StatusManager
}

// exists reports whether an object must exist for the primary. Without a reconciliation, none must.
func (p *pass) exists(kind string, of shadow.Part) bool {
	if p == nil {
		return false
	}
	id := rules.Identity{GVK: schema.GroupVersionKind{Group: of.Resource.Group, Kind: kind}, Namespace: of.Namespace, Name: of.Name}
	return slices.ContainsFunc(p.rendering.Rules, func(r rules.RuleResult) bool { return r.Matches && !r.Teardown && rendersObject(&r, id) })
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
		ctx, writes := e.shadow.client.Begin(ctx)
		if err := do(ctx); err != nil {
			e.log.Debug("cleanup not foreseen, will retry", "rule", task.Name, "error", err)
			left++
			return
		}
		changes := writes()
		left += len(changes)
		e.shadow.ledger.Cleaned(task, changes, e.clock.Now())
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

// forgetWrites forgets answers that were only pretended.
func (m *memory) forgetWrites() {
	m.children, m.byID, m.deleted, m.status, m.self, m.patches = nil, nil, nil, writtenStatus{}, nil, nil
}
