package write

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// replace deletes an object in order to create it again. The reconciliation after
// its deletion creates it, like any missing child.
func (p *ChildWriter) replace(ctx context.Context, d *rules.Desired) (decide.Step, error) {
	c := p.Primary.CacheOf(d.Identity.GVK)
	if c == nil {
		return decide.Step{}, watch.ErrNotListed
	}
	o := p.View.Live(d.Identity)
	if o == nil {
		// The object is not in the cache; it was found by name with a live read.
		u, err := p.Reader.Get(ctx, c.Kind(), d.Identity)
		if answer.IsAbsent(err) {
			return decide.SkipFor(decide.ForDeletion), nil
		}
		if err != nil {
			return decide.Step{}, err
		}
		o = watch.NewObject(u, watch.Child)
	}
	if o.OwnerUID() == "" {
		// Another writer removed the owner reference in order to keep the object.
		return p.foreign(d, o, p.Memory.Child(d.Identity))
	}
	w := p.Memory.Child(d.Identity)
	if err := w.Replacement.Stands(p.Subject, d.Hash, o.GetResourceVersion()); err != nil {
		return decide.Step{}, err
	}
	if err := p.rehearse(ctx, c.Kind(), d); err != nil {
		return decide.Step{}, p.Answers.NoteRejection(&w.Replacement, d.Hash, o.GetResourceVersion(), err)
	}
	deleted, err := p.Remover.removeConfirmed(ctx, d.Child.Rule, c.Kind(), o, metav1.DeletePropagationBackground)
	if err != nil {
		return decide.Step{}, err
	}
	if !deleted {
		return decide.SkipFor(decide.ForDeletion), nil
	}
	w.Replaced = true
	p.Journal.Did(outcome.Replaced, d, p.Trigger)
	p.Events.Normal(p.Self, outcome.ReasonReplaced,
		"deleted "+d.Identity.String()+", to create it again from its template")
	return decide.SkipFor(decide.ForOwnDeletion), nil
}

// rehearse checks with a dry run under another name whether the API server would
// accept the replacement of an object. An object must not be deleted for a
// replacement that cannot be created. Only errors in the object itself count: a
// quota, for example, may have room again after the old object is deleted.
func (p *ChildWriter) rehearse(ctx context.Context, k ident.Kind, d *rules.Desired) error {
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
	_, err = p.Cluster.Writer(d.Child.Rule, p.Req, k, d.Identity.Namespace).Patch(ctx, u.GetName(), types.ApplyPatchType,
		body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: managedfields.Manager})
	var terminal *outcome.TerminalError
	// The API server reports a webhook without dry-run support as a bad request.
	if answer := outcome.ClassifyAnswer(err); errors.As(answer, &terminal) && terminal.Reason == outcome.ReasonRejected &&
		!apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) {
		return answer
	}
	return nil // The creation reports any other error.
}
