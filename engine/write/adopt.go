package write

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// adopt takes over an object, or extends it, in exactly the state that was read.
func (p *ChildWriter) adopt(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	existing *watch.Object, as outcome.Action) (decide.Step, error) {
	if err := p.Reader.Confirm(ctx); err != nil {
		return decide.Step{}, err
	}
	version := existing.GetResourceVersion()
	if err := w.Rejected.Stands(p.Subject, d.Hash, version); err != nil {
		return decide.Step{}, err
	}
	fields := p.Applier.requestMark(d)
	if d.Child.Shared {
		fields = p.Applier.sharesToApply(d, existing)
	}
	body, err := d.Complete(string(existing.GetUID()), version, fields)
	if err != nil {
		return decide.Step{}, err
	}
	if decide.KeepsExisting(d.Child) {
		if body, err = rules.Marks(body); err != nil {
			return decide.Step{}, err
		}
	}
	err = p.Applier.apply(ctx, k, d, w, body)
	switch {
	case apierrors.IsConflict(err), answer.IsAbsent(err):
		return decide.Step{}, decide.ErrStale // It changed between the read and the apply.
	case err != nil:
		w.Foreign = true // The next attempt reads the object first instead of creating it.
		return decide.Step{}, p.Answers.NoteRejection(&w.Rejected, d.Hash, version, outcome.ExplainRejection(d, err, ""))
	}
	p.Journal.Did(as, d, p.Trigger)
	if as == outcome.Adopted {
		p.Events.Normal(p.Self, outcome.ReasonAdopted, "adopted "+d.Identity.String()+", which had no controller")
	}
	p.Findings.Takes(d, as)
	return decide.Step{Action: as}, nil
}

// outdatedReference reports whether the owner reference of an object that is not applied any more names
// another version of the primary's kind. When the API server no longer has that version, the garbage
// collector cannot find the primary, and the object stays when the primary is deleted.
func (p *ChildWriter) outdatedReference(d *rules.Desired, live *watch.Object) bool {
	if live == nil || !decide.KeepsExisting(d.Child) || p.View.Leaves(live) {
		return false
	}
	version := live.ControllerVersion()
	return version != "" && live.OwnerUID() == p.Req.UID && version != p.Cache.Kind().GVK.GroupVersion().String()
}

// renewReference writes the version of the primary's kind into the owner reference of an object, and
// nothing else.
func (p *ChildWriter) renewReference(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written) error {
	u, err := p.Reader.Get(ctx, k, d.Identity)
	if answer.IsAbsent(err) {
		return decide.ErrStale
	}
	if err != nil {
		return err
	}
	for i, ref := range u.GetOwnerReferences() {
		if ref.UID != p.Req.UID {
			continue
		}
		at := fmt.Sprintf("/metadata/ownerReferences/%d/", i)
		patch, err := json.Marshal([]map[string]any{
			{"op": "test", "path": at + "uid", "value": ref.UID},
			{"op": "replace", "path": at + "apiVersion", "value": p.Cache.Kind().GVK.GroupVersion().String()},
		})
		if err != nil {
			return err
		}
		u, err = p.Cluster.Writer(d.Child.Rule, p.Req, k, d.Identity.Namespace).Edit(ctx, d.Identity.Name, patch,
			managedfields.Rendering)
		if apierrors.IsInvalid(err) || apierrors.IsConflict(err) || answer.IsAbsent(err) {
			return decide.ErrStale // Another writer changed the object.
		}
		if err != nil {
			return outcome.ClassifyAnswer(err)
		}
		w.Object, w.Version = watch.NewObject(u, watch.Child), u.GetResourceVersion()
		return nil
	}
	return decide.ErrStale
}
