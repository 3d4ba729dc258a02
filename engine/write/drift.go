package write

import (
	"context"
	"slices"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// drifted reports whether another writer changed our fields since our last write.
// It compares no values, so that defaulting causes no drift.
func drifted(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if live.Fields() == (managedfields.Entry{}) || !decide.CarriesRendering(live, d) {
		return true
	}
	if w.UID != live.GetUID() && !recognise(d, live, w) {
		return true
	}
	if live.Fields() != w.Fields && !onlyIgnored(d, live, w) && !(d.Child.Shared && recognise(d, live, w)) {
		return true // Of a shared object, another owner may have applied the same.
	}
	return secretDiffers(d, live, w)
}

// misplaced reports whether another writer may have changed the key of an element of a list that we
// applied. An apply would add ours beside it.
func misplaced(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if !decide.CarriesRendering(live, d) || live.HasOrphanedFields() {
		return false
	}
	return w.UID != live.GetUID() || managedfields.LosesElements(w.Fields, live.Fields())
}

// recognise compares an object that this process has not written with the
// rendering. If we own every field of the rendering, no writer has changed any, and
// the entry is the result of our last write.
func recognise(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	desired, err := d.Object()
	if err != nil || !live.Fields().Set().Covers(decide.WithoutIgnored(d, decide.Identifying(desired))) {
		return false
	}
	w.UID, w.Fields, w.Version = live.GetUID(), live.Fields(), live.GetResourceVersion()
	return true
}

// secretDiffers compares the data of a Secret, because neither a change through stringData
// shows in field ownership nor a key that the rule no longer generates in the rendering. It
// runs once for each state of the object and each version of the rule.
func secretDiffers(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if d.Identity.GVK.GroupKind() != outcome.Secrets || w.Checked == live.GetResourceVersion() && w.CheckedFor == d.Child {
		return false
	}
	desired, err := d.Object()
	if err != nil {
		return true
	}
	want, _ := desired["data"].(map[string]any)
	have, _ := live.Content()["data"].(map[string]any)
	for key := range want {
		if !decide.SameBytes(want[key], have[key]) {
			return true
		}
	}
	left, owned := d.IgnoredPaths(), live.Fields().Set()
	for key := range have {
		_, wanted := want[key]
		if !wanted && owned.Has("data", key) &&
			!slices.ContainsFunc(left, func(path []string) bool { return decide.Reaches(path, "data", key) }) {
			return true
		}
	}
	w.Checked, w.CheckedFor = live.GetResourceVersion(), d.Child
	return false
}

// Ignored fields are set when an object is created. After that they belong to
// whoever changes them. Drift detection skips them, and an update includes them
// only until another writer takes them over. An apply without a field that we alone
// own would reset that field.

// onlyIgnored reports whether only the ownership of ignored fields changed since our
// last write.
func onlyIgnored(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	paths := d.IgnoredPaths()
	if len(paths) == 0 || w.Fields == (managedfields.Entry{}) {
		return false
	}
	if !w.Fields.Set().Without(paths).Equals(live.Fields().Set().Without(paths)) {
		return false
	}
	w.Fields = live.Fields() // Avoids the decoding next time.
	return true
}

// damp counts an update of an object, and returns an error if the update has to
// wait. If the object differs although our last write was the same, another writer
// has undone it, no matter which hash the object has now. The caller runs tell after
// an update that changed something.
func (a *Applier) damp(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	live *watch.Object) (tell func(), err error) {
	now := a.Clock.Now()
	switch {
	case a.Reapply && !drifted(d, live, w):
		return func() { a.Journal.Did(outcome.Configured, d, decide.WhyPeriodic) }, nil
	case a.requested(d, live, w) && !drifted(d, live, w):
		return func() {
			a.Requested = a.Requested || !a.Memory.Reconciled
			a.Journal.Did(outcome.Configured, d, decide.WhyRequested)
		}, nil
	case a.Admitted.Inherits(live):
		return func() { a.Journal.Did(outcome.Configured, d, decide.WhyTakenOver) }, nil
	case !drifted(d, live, w) && a.View.PredatesSchema(d, live, w):
		return func() { a.Journal.Did(outcome.Configured, d, decide.WhySchema) }, nil
	case d.Child.Generates() && a.isDue(d, live) && !drifted(d, live, w):
		if wait := w.Damper.Repair(now); wait > 0 {
			return nil, w.Damper.Loop.Wait(d, wait)
		}
		return func() { a.Journal.Did(outcome.Configured, d, decide.WhyGenerated) }, nil
	case decide.Moved(d, live) && !drifted(d, live, w): // No other writer has changed it.
	case w.UID == live.GetUID() && w.Hash == d.Hash && !d.Child.Shared || decide.CarriesRendering(live, d):
		if wait := w.Damper.Repair(now); wait > 0 {
			return nil, w.Damper.Loop.Wait(d, wait)
		}
		w.Damper.Loop.By = a.whoChanged(ctx, k, d, w, live)
		return func() { a.Journal.Repaired(d, w.Damper.Loop.By) }, nil
	}
	if wait := w.Damper.Change(now); wait > 0 {
		return nil, &decide.ConflictLoopError{Object: d.Identity.String(), Reads: a.View.VolatileReads(), Wait: wait}
	}
	return func() { a.Journal.Did(outcome.Configured, d, a.Trigger) }, nil
}

// contested returns an error while it is unknown whether a restored object stays
// unchanged.
func (a *Applier) contested(d *rules.Desired, w *access.Written) error {
	rest := w.Damper.Loop.Standing(a.Clock.Now())
	if rest == 0 {
		return nil
	}
	return w.Damper.Loop.Wait(d, rest)
}

// whoChanged finds out who made a repair of a cached state necessary. It reads the
// object, because the cache keeps no field managers but ours. The repair waits for the
// answer, so the read is a fast one. A failure to find out does not stop the repair.
func (a *Applier) whoChanged(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	cached *watch.Object) outcome.Culprit {
	u, err := a.Reader.GetSince(ctx, k, d.Identity, cached.GetResourceVersion())
	if err != nil {
		return outcome.Culprit{}
	}
	desired, err := d.Object()
	if err != nil {
		return outcome.Culprit{}
	}
	return outcome.CulpritOf(u, decide.Identifying(desired), w.Fields, a.Installation)
}

// lostMarks returns the marks that the answer to an apply of an object lacks.
func (a *Applier) lostMarks(d *rules.Desired, answer *watch.Object) (lost []string) {
	if mark, kept := decide.OwnerMark(d, a.Req, answer); !kept {
		lost = append(lost, mark)
	}
	for _, mark := range []struct {
		key  string
		kept bool
	}{
		{"label " + rules.LabelRule, answer.Rule() == d.Child.Rule.Name},
		{"label " + rules.LabelChild, answer.Child() == d.Child.ID},
		{"annotation " + rules.AnnotationApplied, decide.CarriesRendering(answer, d)},
		{"annotation " + rules.AnnotationIndex, !decide.Moved(d, answer)},
		{"annotation " + rules.AnnotationInstallation,
			answer.GetAnnotations()[rules.AnnotationInstallation] == a.Installation},
		{"annotation " + rules.AnnotationReconciledAt, len(a.requestMark(d)) == 0 || answer.ReconciledAt() == a.Request},
	} {
		if !mark.kept {
			lost = append(lost, "the "+mark.key)
		}
	}
	return lost
}
