package engine

import (
	"context"

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
	if w.rejected != nil {
		if err := w.rejected.stands(p, d.Hash, version); err != nil {
			return p.unchangeable(d, err)
		}
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
		return p.unchangeable(d, p.noteRejection(&w.rejected, d.Hash, version, explainRejection(d, err, remedy(d))))
	}
	if w.version != version {
		tell()
	}
	return step{action: Configured}, p.contested(d, w)
}

// unchangeable decides about an object that does not take an update: where that
// is what the rule says, it is replaced.
func (p *pass) unchangeable(d *rules.Desired, err error) (step, error) {
	if d.Child.OnChange != rules.Replace || !apierrors.IsInvalid(err) {
		return step{}, err
	}
	if len(d.Waits) > 0 {
		return skipFor(forValues), nil
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
