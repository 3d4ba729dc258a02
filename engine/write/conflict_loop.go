package write

import (
	"context"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

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
	} {
		if !mark.kept {
			lost = append(lost, "the "+mark.key)
		}
	}
	return lost
}
