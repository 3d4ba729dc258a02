package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// update applies the rendering to one of our objects. The apply is forced,
// because each field that another writer has changed is a conflict.
func (p *pass) update(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) (step, error) {
	if live.OwnerUID() == "" || live.LostReference() {
		// Another writer removed the owner reference. It may be the garbage
		// collector, which orphans the children of a deleted primary. Those children
		// must stay unchanged.
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
	before := w.damper
	tell, err := p.damp(ctx, k, d, w, live)
	if err != nil {
		return step{}, err
	}
	if misplaced(d, live, w) {
		owned, err := p.repairFields(ctx, k, d, live, nil, nil)
		if err != nil {
			return step{}, err
		}
		if owned != nil {
			live = owned
		}
	}
	owned := ownedBefore(live, w)
	err = p.write(ctx, k, d, w, live)
	if apierrors.IsInvalid(err) {
		var taken *watch.Object
		if taken, err = p.repairFields(ctx, k, d, live, nil, err); taken != nil {
			err = p.write(ctx, k, d, w, taken)
		}
	}
	if err == nil {
		err = p.removeDropped(ctx, k, d, w, owned)
	}
	if err == nil && w.version == version {
		p.engine.metrics.idle.WithLabelValues(k.GVK.Kind).Inc()
	}
	if err != nil {
		w.damper.uncount(before, err)
		return p.unchangeable(d, p.noteRejection(&w.rejected, d.Hash, version, explainRejection(d, err, remedy(d))))
	}
	if w.version != version {
		tell()
	}
	return step{action: Configured}, p.contested(d, w)
}

// ownedBefore returns the fields that our last write left us. The live object may show a later write,
// whose answer was lost.
func ownedBefore(live *watch.Object, w *written) managedfields.Entry {
	if w.uid == live.GetUID() && w.fields != (managedfields.Entry{}) {
		return w.fields
	}
	return live.OwnFields()
}

// unchangeable handles an object whose update was rejected. With onChange:
// replace, the object is replaced.
func (p *pass) unchangeable(d *rules.Desired, err error) (step, error) {
	if !d.Child.Replaces() || !apierrors.IsInvalid(err) {
		return step{}, err
	}
	if len(d.Waits) > 0 {
		return skipFor(forValues), nil
	}
	return step{action: Replaced}, nil
}

// write applies the rendering to one of our objects. The body has the
// resourceVersion of the state that the decision was based on. So a late write,
// for example of a process that has ended, cannot undo a newer write. After a
// conflict, write reads the object and retries once, because other writers may
// often change unrelated fields, such as the status.
func (p *pass) write(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) error {
	err := p.writeOver(ctx, k, d, w, live)
	if err == nil || !apierrors.IsConflict(err) {
		return err
	}
	if d.Child.Shared {
		return errStale // Another owner may have joined, left or written the same.
	}
	existing, err := p.get(ctx, k, d.Identity)
	if answer.IsAbsent(err) {
		return errStale
	}
	if err != nil {
		return err
	}
	now := watch.NewObject(existing, watch.Child)
	if now.GetUID() != live.GetUID() || now.Terminating() || now.OwnerUID() != live.OwnerUID() || now.LostReference() != live.LostReference() {
		return errStale // The next reconciliation must decide again.
	}
	if err := p.writeOver(ctx, k, d, w, now); !apierrors.IsConflict(err) {
		return err
	}
	return errStale
}

// writeOver applies the rendering to an object at a resourceVersion.
func (p *pass) writeOver(ctx context.Context, k Kind, d *rules.Desired, w *written, state *watch.Object) error {
	fields := ownedIgnored(d, state)
	if d.Child.Generates() {
		made, err := p.generate(d, state)
		if err != nil {
			return err
		}
		fields = append(fields, made...)
	}
	if d.Child.Shared {
		fields = append(fields, p.sharesToApply(d, state)...)
	}
	body, err := d.Complete(string(state.GetUID()), state.GetResourceVersion(), fields)
	if err != nil {
		return err
	}
	return p.apply(ctx, k, d, w, body)
}
