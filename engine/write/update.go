package write

import (
	"context"
	"errors"

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

// An Applier sends the rendering of one object, and repairs what an apply alone cannot change.
type Applier struct {
	*access.Subject
	View    *access.View
	Reader  *access.Reader
	Journal *access.Journal
}

// update applies the rendering to one of our objects. The apply is forced,
// because each field that another writer has changed is a conflict.
func (p *ChildWriter) update(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	live *watch.Object) (decide.Step, error) {
	if live.OwnerUID() == "" || live.LostReference() {
		// Another writer removed the owner reference. It may be the garbage
		// collector, which orphans the children of a deleted primary. Those children
		// must stay unchanged.
		if err := p.Reader.Confirm(ctx); err != nil {
			return decide.Step{}, err
		}
	}
	version := live.GetResourceVersion()
	if w.Rejected != nil {
		if err := w.Rejected.Stands(p.Subject, d.Hash, version); err != nil {
			return p.unchangeable(d, err)
		}
	}
	before, repeats := w.Damper, w.Rejected.Repeats(d.Hash)
	tell, err := p.Applier.damp(ctx, k, d, w, live)
	if err != nil {
		return decide.Step{}, err
	}
	if misplaced(d, live, w) {
		owned, err := p.Applier.repairFields(ctx, k, d, live, nil, nil)
		if err != nil {
			return decide.Step{}, err
		}
		if owned != nil {
			live = owned
		}
	}
	owned := ownedBefore(live, w)
	err = p.Applier.write(ctx, k, d, w, live)
	if apierrors.IsInvalid(err) {
		var taken *watch.Object
		if taken, err = p.Applier.repairFields(ctx, k, d, live, nil, err); taken != nil {
			err = p.Applier.write(ctx, k, d, w, taken)
		}
	}
	if err == nil {
		err = p.Applier.removeDropped(ctx, k, d, w, owned)
	}
	if err == nil && w.Version == version {
		p.Metrics.Idle.WithLabelValues(k.GVK.Kind).Inc()
	}
	if err != nil {
		if w.Damper.Uncount(before, err); repeats {
			w.Damper = before
		}
		return p.unchangeable(d, p.Answers.NoteRejection(&w.Rejected, d.Hash, versionAfter(w, version, err),
			outcome.ExplainRejection(d, err, outcome.Remedy(d))))
	}
	if w.Version != version {
		tell()
	}
	return decide.Step{Action: outcome.Configured}, p.Applier.contested(d, w)
}

// versionAfter returns the resourceVersion of an object after a write that was rejected. Admission that strips marks
// lets the write change everything else, for example an annotation of its own. That change alone must not repeat the
// write.
func versionAfter(w *access.Written, before string, err error) string {
	if _, stripped := errors.AsType[*decide.StrippedError](err); stripped {
		return w.Version
	}
	return before
}

// ownedBefore returns the fields that our last write left us. The live object may show a later write,
// whose answer was lost.
func ownedBefore(live *watch.Object, w *access.Written) managedfields.Entry {
	if w.UID == live.GetUID() && w.Fields != (managedfields.Entry{}) {
		return w.Fields
	}
	return live.OwnFields()
}

// unchangeable handles an object whose update was rejected. With onChange:
// replace, the object is replaced.
func (p *ChildWriter) unchangeable(d *rules.Desired, err error) (decide.Step, error) {
	if !d.Child.Replaces() || !apierrors.IsInvalid(err) {
		return decide.Step{}, err
	}
	if len(d.Waits) > 0 {
		return decide.SkipFor(decide.ForValues), nil
	}
	return decide.Step{Action: outcome.Replaced}, nil
}

// write applies the rendering to one of our objects. The body has the
// resourceVersion of the state that the decision was based on. So a late write,
// for example of a process that has ended, cannot undo a newer write. After a
// conflict, write reads the object and retries once, because other writers may
// often change unrelated fields, such as the status.
func (a *Applier) write(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	live *watch.Object) error {
	err := a.writeOver(ctx, k, d, w, live)
	if err == nil || !apierrors.IsConflict(err) {
		return err
	}
	if d.Child.Shared {
		return decide.ErrStale // Another owner may have joined, left or written the same.
	}
	existing, err := a.Reader.Get(ctx, k, d.Identity)
	if answer.IsAbsent(err) {
		return decide.ErrStale
	}
	if err != nil {
		return err
	}
	now := watch.NewObject(existing, watch.Child)
	if now.GetUID() != live.GetUID() || now.Terminating() || now.OwnerUID() != live.OwnerUID() ||
		now.LostReference() != live.LostReference() {
		return decide.ErrStale // The next reconciliation must decide again.
	}
	if err := a.writeOver(ctx, k, d, w, now); !apierrors.IsConflict(err) {
		return err
	}
	return decide.ErrStale
}

// writeOver applies the rendering to an object at a resourceVersion.
func (a *Applier) writeOver(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	state *watch.Object) error {
	fields := append(decide.OwnedIgnored(d, state), a.requestMark(d)...)
	if d.Child.Generates() {
		made, err := a.generate(d, state)
		if err != nil {
			return err
		}
		fields = append(fields, made...)
	}
	if d.Child.Shared {
		fields = append(fields, a.sharesToApply(d, state)...)
	}
	body, err := d.Complete(string(state.GetUID()), state.GetResourceVersion(), fields)
	if err != nil {
		return err
	}
	return a.apply(ctx, k, d, w, body)
}

// apply sends one body and remembers the response.
func (a *Applier) apply(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written, body []byte) error {
	id := d.Identity
	writer := a.Cluster.Writer(d.Child.Rule, a.Req, k, id.Namespace)
	began := a.Clock.Now()
	o, err := writer.Apply(ctx, a.Primary.Children[id.GVK], "apply", id.Name, body, managedfields.Manager)
	if err != nil {
		return err
	}
	took := a.Clock.Now().Sub(began)
	// Take our fields from the response to the apply: a later state may include the
	// changes of another writer.
	applied := o.OwnFields()
	if o.HasOrphanedFields() {
		if o, err = a.releaseOrphanedFields(ctx, writer, id.Name); err != nil {
			return err
		}
	}
	*w = access.Written{Identity: id, UID: o.GetUID(), Hash: d.Hash, Fields: applied, Version: o.GetResourceVersion(),
		Took: took, Object: o, Schema: w.Schema, Damper: w.Damper, Dispute: w.Dispute}
	return decide.Stripped(id.String(), a.lostMarks(d, o))
}
