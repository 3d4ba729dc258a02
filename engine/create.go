package engine

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/answer"
	"reconcel/rules"
)

// A creation is one object to create.
type creation struct {
	kind   Kind
	d      *rules.Desired
	w      *written
	damper damper // before the creation
	why    string // trigger of the creation
	body   []byte
	err    error // the API server's answer
}

func (p *pass) create(ctx context.Context, k Kind, d *rules.Desired, w *written) (step, error) {
	c, became, err := p.prepareCreation(ctx, k, d, w)
	if c == nil {
		return became, err
	}
	c.err = p.apply(ctx, k, d, w, c.body)
	return p.created(ctx, c)
}

// prepareCreation returns the creation of an object, or the step or error that takes
// its place. The creation is an apply that only creates: with resourceVersion "1" the
// API server answers 409 if the name is taken. So nothing is adopted by accident, and a
// lost response or a stale cache cannot create a second object.
func (p *pass) prepareCreation(ctx context.Context, k Kind, d *rules.Desired, w *written) (*creation, step, error) {
	if p.overtaken() {
		return nil, step{}, errStale // The garbage collector would have to delete the object again.
	}
	if w.foreign {
		// The name was taken a moment ago and most likely still is: read before
		// writing.
		existing, err := p.get(ctx, k, d.Identity)
		if err == nil {
			became, err := p.ensureExisting(ctx, k, d, w, existing)
			return nil, became, err
		}
		if !answer.IsAbsent(err) {
			return nil, step{}, err
		}
	}
	if err := w.rejected.stands(p, d.Hash, ""); err != nil {
		return nil, step{}, err
	}
	before := w.damper
	replacesReplica := d.Child.HasReplicas() && p.memory.reconciled // Possibly one of another name.
	if w.existed() || replacesReplica {
		if err := p.mayCreateAgain(ctx, d, w); err != nil {
			return nil, step{}, err
		}
	}
	fields, err := d.Ignored()
	if err != nil {
		return nil, step{}, err
	}
	if d.Child.Generates() {
		made, err := p.generate(d, nil)
		if err != nil {
			return nil, step{}, err
		}
		fields = append(fields, made...)
	}
	if d.Child.Shared {
		fields = append(fields, p.sharesToApply(d, nil)...)
	}
	body, err := d.Complete("", "1", fields)
	if err != nil {
		return nil, step{}, err
	}
	return &creation{kind: k, d: d, w: w, damper: before, why: p.whyMissing(w), body: body}, step{}, nil
}

// mayCreateAgain reads the primary live before an object is created in the place of one
// that existed: the garbage collector may have deleted it because the primary is gone, and
// the cache may show the deletions in another order. It counts the creation as a
// repair, and returns an error if the creation has to wait.
func (p *pass) mayCreateAgain(ctx context.Context, d *rules.Desired, w *written) error {
	if err := p.confirm(ctx); err != nil {
		return err
	}
	wait := w.damper.repair(p.engine.clock.Now())
	w.damper.loop.by = culprit{deletes: true}
	if wait > 0 {
		return w.damper.loop.wait(d, wait)
	}
	return nil
}

// created handles the API server's answer to a creation.
func (p *pass) created(ctx context.Context, c *creation) (step, error) {
	if _, lost := errors.AsType[*strippedError](c.err); lost {
		// The policy may apply to creations alone. If it removed the label that the watch selects,
		// no event would follow.
		c.err = p.write(ctx, c.kind, c.d, c.w, c.w.object)
	}
	if c.err == nil {
		c.w.foreign = false
		p.did(Created, c.d, c.why)
		return step{action: Created}, p.contested(c.d, c.w)
	}
	c.w.damper = c.damper // Nothing was created that another writer could delete.
	switch {
	case apierrors.IsConflict(c.err) || apierrors.IsAlreadyExists(c.err):
		existing, err := p.get(ctx, c.kind, c.d.Identity)
		if err != nil {
			return step{}, err
		}
		return p.ensureExisting(ctx, c.kind, c.d, c.w, existing)
	case namespaceEnds(c.err):
		return skipFor(forNamespace), nil
	}
	return step{}, p.noteRejection(&c.w.rejected, c.d.Hash, "", classifyAnswer(c.err))
}

// namespaceEnds reports whether the API server rejects new objects because the
// namespace is being deleted.
func namespaceEnds(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
