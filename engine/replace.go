package engine

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// replace deletes an object in order to create it again. The reconciliation after
// its deletion creates it, like any missing child.
func (p *pass) replace(ctx context.Context, d *rules.Desired) (step, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return step{}, watch.ErrNotListed
	}
	o := p.live(d.Identity)
	if o == nil {
		// The object is not in the cache; it was found by name with a live read.
		u, err := p.get(ctx, c.Kind(), d.Identity)
		if answer.IsAbsent(err) {
			return skipFor(forDeletion), nil
		}
		if err != nil {
			return step{}, err
		}
		o = watch.NewObject(u, watch.Child)
	}
	if o.OwnerUID() == "" {
		// Another writer removed the owner reference in order to keep the object.
		return p.foreign(d, o, p.memory.child(d.Identity))
	}
	w := p.memory.child(d.Identity)
	if err := w.replacement.stands(p, d.Hash, o.GetResourceVersion()); err != nil {
		return step{}, err
	}
	if err := p.rehearse(ctx, c.Kind(), d); err != nil {
		return step{}, p.noteRejection(&w.replacement, d.Hash, o.GetResourceVersion(), err)
	}
	deleted, err := p.removeConfirmed(ctx, d.Child.Rule, c.Kind(), o, metav1.DeletePropagationBackground)
	if err != nil {
		return step{}, err
	}
	if !deleted {
		return skipFor(forDeletion), nil
	}
	w.replaced = true
	p.did(Replaced, d, p.trigger)
	p.engine.events.normal(p.self, reasonReplaced, "deleted "+d.Identity.String()+", to create it again from its template")
	return skipFor(forOwnDeletion), nil
}

// rehearse checks with a dry run under another name whether the API server would
// accept the replacement of an object. An object must not be deleted for a
// replacement that cannot be created. Only errors in the object itself count: a
// quota, for example, may have room again after the old object is deleted.
func (p *pass) rehearse(ctx context.Context, k Kind, d *rules.Desired) error {
	object, err := d.Whole()
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: object}
	const longest = 40 // Fits the kinds with the lowest limit on names.
	u.SetName(strings.TrimRight(u.GetName()[:min(len(u.GetName()), longest)], ".-") + "-rehearsal")
	u.SetResourceVersion("1") // An existing object with this name is a conflict, not updated.
	body, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).patch(ctx, u.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: managedfields.Manager})
	var terminal *terminalError
	// The API server reports a webhook without dry-run support as a bad request.
	if answer := classifyAnswer(err); errors.As(answer, &terminal) && terminal.reason == reasonRejected && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) {
		return answer
	}
	return nil // The creation reports any other error.
}
