package write

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Several primaries of one rule may share an object. Each has an annotation on it, with the
// hash of what it renders. The annotations are written one by one, and apart from the
// content: whoever joins or leaves does not touch the parts of the others.
//
// The content is applied while all owners render the same. It is written for the exact
// state that was read, so that no owner who joins meanwhile is overlooked.

// decideShared is decide for an object that several primaries may share.
func decideShared(d *rules.Desired, live *watch.Object, k Known) decide.Step {
	share, joined := live.Share(k.Primary)
	switch {
	case joined:
		return k.decideJoined(d, live, share)
	case k.joinable(d, live):
		if len(d.Waits) > 0 {
			return decide.SkipFor(decide.ForValues)
		}
		return decide.Step{Action: outcome.Shared}
	case d.Child.Extends && k.extendable(live):
		if len(d.Waits) > 0 {
			return decide.SkipFor(decide.ForValues)
		}
		return decide.Step{Action: outcome.Extended}
	case !k.owns(d, live):
		return k.decideForeign(d, live)
	case len(d.Waits) > 0 && !decide.CarriesRendering(live, d):
		return decide.SkipFor(decide.ForValues)
	}
	// It belonged to this primary alone, or another writer has removed our marks.
	return decide.Step{Action: outcome.Configured}
}

// decideJoined decides about an object in which the primary has a part. Its part says what
// the primary renders, whatever the others render.
func (k *Known) decideJoined(d *rules.Desired, live *watch.Object, share rules.Share) decide.Step {
	published, applied := share.Hash == d.HashString(), decide.CarriesRendering(live, d)
	others, _ := k.findings.Parts(live, k.Primary.UID)
	agreed := len(decide.DifferingShares(d, others)) == 0
	switch {
	case len(d.Waits) > 0 && !(published && applied):
		return decide.SkipFor(decide.ForValues)
	case !published && (applied || !agreed):
		return decide.Step{Action: outcome.Shared}
	case !agreed && !applied:
		return decide.Step{Action: outcome.Unchanged}
	case k.Renew || drifted(d, live, k.Written):
		return decide.Step{Action: outcome.Configured}
	}
	return decide.Step{Action: outcome.Unchanged}
}

// joinable reports whether the primary may share the object: it was made for the same child
// of the same rule, and for primaries of the same kind.
func (k *Known) joinable(d *rules.Desired, o *watch.Object) bool {
	return o.IsShared() && o.HasOwnLabel() && o.Rule() == d.Child.Rule.Name && o.Child() == d.Child.ID &&
		!slices.ContainsFunc(o.Shares(), func(s rules.Share) bool { return s.Owner.Kind != k.Primary.Kind })
}

// extendable reports whether others created the object, and the garbage collector is not about to delete it with a
// former primary.
func (k *Known) extendable(o *watch.Object) bool {
	former, controlled := o.Controller()
	_, marked := o.GetAnnotations()[rules.AnnotationOwner]
	return !k.Ending && !o.HasOwnLabel() && !marked && len(o.ClaimedShares()) == 0 &&
		!(controlled && (former.UID == k.Primary.UID || k.isFormer(former)))
}

// extendedBefore reports whether an earlier version of the rule extended an object that others created.
func (k *Known) extendedBefore(d *rules.Desired, o *watch.Object) bool {
	if _, controlled := o.Controller(); controlled || d.Child.Extends {
		return false
	}
	_, joined := o.Share(k.Primary)
	return o.Extended() || !d.Child.Shared && joined && !o.Made(k.Primary)
}

// share writes the primary's part of a shared object, and nothing else. The write needs no
// resourceVersion: it is right in any state of the object.
func (p *ChildWriter) share(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	live *watch.Object) (decide.Step, error) {
	if p.Reader.Overtaken() {
		return decide.Step{}, decide.ErrStale
	}
	version := live.GetResourceVersion()
	if err := w.Rejected.Stands(p.Subject, d.Hash, version); err != nil {
		return decide.Step{}, err
	}
	part := p.Applier.partIn(d)
	if claimed, _ := rules.ShareOf(live.Content(), p.Req.UID); claimed == part {
		part.Hash = "" // Another writer has it now, and a write that changes nothing would not make it ours.
	}
	body, err := decide.ShareBody(live.GetUID(), "", p.Req.UID, part.Value())
	if err != nil {
		return decide.Step{}, err
	}
	o, err := p.Cluster.Writer(d.Child.Rule, p.Req, k, d.Identity.Namespace).Merge(ctx, p.Primary.Children[d.Identity.GVK],
		d.Identity.Name, body)
	switch {
	case apierrors.IsConflict(err), answer.IsAbsent(err):
		return decide.Step{}, decide.ErrStale
	case decide.IsTooManyShares(err):
		err = &outcome.TerminalError{Reason: outcome.ReasonRejected, Retry: outcome.RefusedRetry, Err: fmt.Errorf(
			"%s cannot be shared by more resources: the annotations of its %d owners "+
				"fill the 256 KiB that the API server allows", d.Identity, len(live.ClaimedShares()))}
		return decide.Step{}, p.Answers.NoteRejection(&w.Rejected, d.Hash, version, err)
	case err != nil:
		return decide.Step{}, p.Answers.NoteRejection(&w.Rejected, d.Hash, version, outcome.ClassifyAnswer(err))
	}
	// The fields are not known to be as they were applied: drifted compares them.
	*w = access.Written{Identity: d.Identity, UID: o.GetUID(), Version: o.GetResourceVersion(), Object: o,
		Damper: w.Damper, Dispute: w.Dispute}
	if o.Terminating() {
		return decide.SkipFor(decide.ForDeletion), nil
	}
	p.Journal.Did(outcome.Shared, d, p.Trigger)
	return decide.Step{Action: outcome.Shared}, nil
}

// partIn returns the primary's part of an object.
func (a *Applier) partIn(d *rules.Desired) rules.Share {
	return rules.Share{Owner: a.Req, Hash: d.HashString()}
}

// sharesToApply returns the annotations of owners for an apply: that of the primary, and those
// of the others that an earlier apply set. The apply would remove them otherwise. So would it remove
// the mark of an object that reconcel has created.
func (a *Applier) sharesToApply(d *rules.Desired, state *watch.Object) (fields []rules.FieldValue) {
	parts := []rules.Share{a.partIn(d)}
	if state != nil {
		for _, s := range state.ClaimedShares() {
			if s.Owner.UID != a.Req.UID && state.AppliedShare(s.Owner.UID) {
				parts = append(parts, s)
			}
		}
	}
	for _, s := range parts {
		fields = append(fields, rules.FieldValue{Path: []string{"metadata", "annotations", rules.ShareKey(s.Owner.UID)},
			Value: s.Value()})
	}
	if d.Child.Extends && (state == nil || state.Made(a.Req)) {
		fields = append(fields, rules.FieldValue{Path: []string{"metadata", "annotations", rules.AnnotationCreated},
			Value: "true"})
	}
	return fields
}

// reapplies reports whether the primary is the one of the owners that applies the object
// periodically.
func (p *ChildWriter) reapplies(d *rules.Desired, live *watch.Object) bool {
	if !d.Child.Shared || live == nil {
		return true
	}
	shares := live.Shares()
	return len(shares) == 0 || shares[0].Owner.UID == p.Req.UID
}

// settled returns an error if other owners of an object render it differently than the
// primary.
func (p *ChildWriter) settled(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written) error {
	live := p.View.Live(d.Identity)
	if live == nil || !live.BelongsTo(p.Req) {
		return nil
	}
	parts, known := p.Findings.Parts(live, p.Req.UID)
	others := decide.DifferingShares(d, parts)
	if len(others) == 0 {
		w.Dispute = nil
		return nil
	}
	now := p.Clock.Now()
	if w.Dispute == nil {
		w.Dispute = &decide.Dispute{Since: now}
		if decide.Reports(p.Self, outcome.ReasonSharedDifferently) { // An earlier process has waited.
			w.Dispute.Since = now.Add(-decide.SharingPatience)
		}
	}
	e := &decide.SharingError{Object: d.Identity.String(), Others: others,
		Patient: w.Dispute.Since.Add(decide.SharingPatience).Sub(now)}
	if p.Findings != nil && (known || w.Object == nil) {
		e.Patient = 0 // Nobody is about to agree with a part that was just written.
	}
	if e.Patient <= 0 {
		e.Field = p.firstDifference(ctx, k, d, w, live)
	}
	return e
}

// firstDifference returns a field of the object that the primary renders differently, if the
// object has what another owner renders. It reads each state of the object once: the cache
// has only some of its fields.
func (p *ChildWriter) firstDifference(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	live *watch.Object) string {
	if w.Dispute.Version == live.GetResourceVersion() {
		return w.Dispute.Field
	}
	w.Dispute.Version, w.Dispute.Field = live.GetResourceVersion(), ""
	if decide.CarriesRendering(live, d) {
		return ""
	}
	u, err := p.Reader.GetSince(ctx, k, d.Identity, live.GetResourceVersion())
	if err != nil {
		return ""
	}
	desired, err := d.Object()
	if err != nil {
		return ""
	}
	w.Dispute.Field = decide.FirstDiffering(u, decide.Identifying(desired))
	return w.Dispute.Field
}
