package engine

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// update applies the rendering to an object of ours. It is forced, since every
// field that somebody else has changed is a conflict.
func (p *pass) update(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) (step, error) {
	if live.OwnerUID() == "" {
		// Somebody has taken the owner away. It may be the garbage collector, as
		// the primary goes and its children are to stay: then they are left alone.
		if err := p.confirm(ctx); err != nil {
			return step{}, err
		}
	}
	version := live.GetResourceVersion()
	if err := w.refusal.of(p, d, version); err != nil {
		return p.unchangeable(d, err)
	}
	tell, err := p.damp(ctx, k, d, w, live)
	if err != nil {
		return step{}, err
	}
	err = p.write(ctx, k, d, w, live)
	if apierrors.IsInvalid(err) {
		var mended *watch.Object
		if mended, err = p.takeOwnership(ctx, k, d, live, err); mended != nil {
			err = p.write(ctx, k, d, w, mended)
		}
	}
	if err == nil && w.version == version {
		p.engine.metrics.idle.WithLabelValues(k.GVK.Kind).Inc()
	}
	if err != nil {
		return p.unchangeable(d, w.refusal.note(p, d, version, explained(d, err, remedy(d))))
	}
	if w.version != version {
		tell()
	}
	return step{action: Configured}, p.contested(d, w)
}

// damp counts an update of an object, and returns an error if it has to wait.
// Every one counts, whoever's mark the object bears: if our last write was the
// same then somebody has undone it. tell is to be called when the update has
// changed something.
func (p *pass) damp(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) (tell func(), err error) {
	id, now := d.Identity, p.engine.clock.Now()
	wait, by := time.Duration(0), ""
	switch {
	case p.reapply && !drifted(d, live, w):
		return func() { p.did(Configured, d, whyPeriodic) }, nil
	case p.verdict.inherits(live):
		return func() { p.did(Configured, d, whyTakenOver) }, nil
	case w.uid == live.GetUID() && w.hash == d.Hash || carries(live, d):
		if w.contest == nil {
			w.contest = &contest{}
		}
		if wait = w.contest.repair(now); wait == 0 {
			w.contest.by = p.whoChanged(ctx, k, d, w)
			return func() { p.repaired(d, w.contest.by) }, nil
		}
		by = w.contest.by.String()
	default:
		if wait = w.churn.change(now); wait == 0 {
			return func() { p.did(Configured, d, p.trigger) }, nil
		}
	}
	return nil, &contestedError{object: id.String(), by: by, wait: wait}
}

// contested returns an error as long as it is not known whether an object that
// was restored stays so.
func (p *pass) contested(d *rules.Desired, w *written) error {
	rest := w.contest.standing(p.engine.clock.Now())
	if rest == 0 {
		return nil
	}
	id := d.Identity
	return &contestedError{object: id.String(), by: w.contest.by.String(), wait: rest}
}

// unchangeable decides about an object that does not take an update: where that
// is what the rule says, it is replaced.
func (p *pass) unchangeable(d *rules.Desired, err error) (step, error) {
	if d.Child.OnChange != rules.Replace || !apierrors.IsInvalid(err) {
		return step{}, err
	}
	if len(d.Waits) > 0 {
		return skip(forValues), nil
	}
	return step{action: Replaced}, nil
}

// write applies the rendering to an object of ours. It holds for the state that
// was decided about: what a process sent that is gone meanwhile, and what comes
// late, must not undo what another has written since. Where that state has
// passed, it is read anew and tried once more: others may write often what is
// none of our concern, such as a status.
func (p *pass) write(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) error {
	err := p.writeOver(ctx, k, d, w, live)
	if !apierrors.IsConflict(err) {
		return err
	}
	existing, err := p.get(ctx, k, d.Identity)
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err != nil {
		return err
	}
	now := watch.NewObject(existing, watch.Child)
	if now.GetUID() != live.GetUID() || now.Terminating() || now.OwnerUID() != live.OwnerUID() {
		return errStale // That is to be decided anew.
	}
	if err := p.writeOver(ctx, k, d, w, now); !apierrors.IsConflict(err) {
		return err
	}
	return errStale
}

// writeOver applies the rendering to one state of an object.
func (p *pass) writeOver(ctx context.Context, k Kind, d *rules.Desired, w *written, state *watch.Object) error {
	body, err := d.Complete(string(state.GetUID()), state.GetResourceVersion(), ownedIgnored(d, state))
	if err != nil {
		return err
	}
	return p.apply(ctx, k, d, w, body)
}
