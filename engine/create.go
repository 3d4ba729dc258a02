package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/rules"
)

// create creates the child by an apply that only creates: with resourceVersion "1"
// the API server answers 409 if the name is taken. So nothing is adopted by
// accident, and a lost response or a stale cache cannot create a second object.
func (p *pass) create(ctx context.Context, k Kind, d *rules.Desired, w *written) (step, error) {
	if free, became, err := p.free(ctx, k, d, w); !free {
		return became, err
	}
	body, err := creationBody(d)
	if err != nil {
		return step{}, err
	}
	why := p.whyMissing(w)
	return p.created(ctx, k, d, w, why, p.apply(ctx, k, d, w, body))
}

// free reports whether a creation can succeed. If not, it also returns the step that
// was taken instead.
func (p *pass) free(ctx context.Context, k Kind, d *rules.Desired, w *written) (bool, step, error) {
	if w.foreign {
		// The name was taken a moment ago and most likely still is: read before
		// writing.
		existing, err := p.get(ctx, k, d.Identity)
		if err == nil {
			became, err := p.ensureExisting(ctx, k, d, w, existing)
			return false, became, err
		}
		if !apierrors.IsNotFound(err) {
			return false, step{}, err
		}
	}
	if err := w.rejected.stands(p, d.Hash, ""); err != nil {
		return false, step{}, err
	}
	return true, step{}, nil
}

// creationBody returns the body of an apply that only creates.
func creationBody(d *rules.Desired) ([]byte, error) {
	fields, err := d.Ignored()
	if err != nil {
		return nil, err
	}
	return d.Complete("", "1", fields)
}

// created handles the API server's answer to a creation.
func (p *pass) created(ctx context.Context, k Kind, d *rules.Desired, w *written, why string, err error) (step, error) {
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		existing, err := p.get(ctx, k, d.Identity)
		if err != nil {
			return step{}, err
		}
		return p.ensureExisting(ctx, k, d, w, existing)
	case namespaceEnds(err):
		return skipFor(forNamespace), nil
	case err != nil:
		return step{}, p.noteRejection(&w.rejected, d.Hash, "", classifyAnswer(err))
	}
	w.foreign = false
	p.did(Created, d, why)
	return step{action: Created}, nil
}

// namespaceEnds reports whether the API server rejects new objects because the
// namespace is being deleted.
func namespaceEnds(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
