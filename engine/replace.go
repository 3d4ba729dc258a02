package engine

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// replace deletes an object that is to be made anew: when it is gone it is
// missing.
func (p *pass) replace(ctx context.Context, d *rules.Desired) (step, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return step{}, watch.ErrNotListed
	}
	o := p.live(d.Identity)
	if o == nil {
		// It was found under its name only.
		u, err := p.get(ctx, c.Kind(), d.Identity)
		if apierrors.IsNotFound(err) {
			return skipFor(forDeletion), nil
		}
		if err != nil {
			return step{}, err
		}
		o = watch.NewObject(u, watch.Child)
	}
	if o.OwnerUID() == "" {
		// Somebody has taken the owner away, and wants to keep it.
		return p.foreign(d, o, p.memory.child(d.Identity))
	}
	w := p.memory.child(d.Identity)
	if err := w.replacement.stands(p, d.Hash, o.GetResourceVersion()); err != nil {
		return step{}, err
	}
	if err := p.rehearse(ctx, c.Kind(), d); err != nil {
		return step{}, p.noteRejection(&w.replacement, d.Hash, o.GetResourceVersion(), err)
	}
	deleted, err := p.take(ctx, d.Child.Rule, c.Kind(), o, metav1.DeletePropagationBackground)
	if err != nil {
		return step{}, err
	}
	if deleted == nil {
		return skipFor(forDeletion), nil
	}
	w.replaced = true
	p.did(Replaced, d, p.trigger)
	p.engine.events.normal(p.self, reasonReplaced, "deleted "+d.Identity.String()+", to create it again from its template")
	return skipFor(forOwnDeletion), nil
}

// rehearse asks the API server, by a dry run under another name, whether it would
// take what is to stand in the place of an object: that one must not go for
// something that cannot be. Only what is wrong with the object itself counts. A
// quota, for one, may have room again when the old one is gone.
func (p *pass) rehearse(ctx context.Context, k Kind, d *rules.Desired) error {
	object, err := d.Whole()
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: object}
	const longest = 40 // Of names whose kinds take the fewest characters.
	u.SetName(strings.TrimRight(u.GetName()[:min(len(u.GetName()), longest)], ".-") + "-rehearsal")
	u.SetResourceVersion("1") // Only create.
	body, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).Patch(ctx, u.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: managedfields.Manager})
	var terminal *terminalError
	// A webhook that does not support dry runs is a bad request.
	if said := classifyAnswer(err); errors.As(said, &terminal) && terminal.reason == reasonRefused && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) {
		return said
	}
	return nil // Whatever else it says, the creation will say again.
}
