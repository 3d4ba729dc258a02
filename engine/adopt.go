package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/answer"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// adopt takes over an object in exactly the state that was read.
func (p *pass) adopt(ctx context.Context, k Kind, d *rules.Desired, w *written, existing *watch.Object) (step, error) {
	if err := p.confirm(ctx); err != nil {
		return step{}, err
	}
	version := existing.GetResourceVersion()
	if err := w.rejected.stands(p, d.Hash, version); err != nil {
		return step{}, err
	}
	var shares []rules.FieldValue
	if d.Child.Shared {
		shares = p.sharesToApply(d, existing)
	}
	body, err := d.Complete(string(existing.GetUID()), version, shares)
	if err != nil {
		return step{}, err
	}
	if keepsExisting(d.Child) {
		if body, err = rules.Marks(body); err != nil {
			return step{}, err
		}
	}
	err = p.apply(ctx, k, d, w, body)
	switch {
	case apierrors.IsConflict(err), answer.IsAbsent(err):
		return step{}, errStale // It changed between the read and the apply.
	case err != nil:
		w.foreign = true // The next attempt reads the object first instead of creating it.
		return step{}, p.noteRejection(&w.rejected, d.Hash, version, explainRejection(d, err, ""))
	}
	p.did(Adopted, d, p.trigger)
	p.engine.events.normal(p.self, reasonAdopted, "adopted "+d.Identity.String()+", which had no controller")
	p.findings.adopts(d)
	return step{action: Adopted}, nil
}
