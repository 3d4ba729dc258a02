package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
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
func decideShared(d *rules.Desired, live *watch.Object, k known) step {
	share, joined := live.Share(k.primary)
	switch {
	case joined:
		return k.decideJoined(d, live, share)
	case k.joinable(d, live):
		if len(d.Waits) > 0 {
			return skipFor(forValues)
		}
		return step{action: Shared}
	case !k.owns(d, live):
		return k.decideForeign(d, live)
	case len(d.Waits) > 0 && !carriesRendering(live, d):
		return skipFor(forValues)
	}
	return step{action: Configured} // It belonged to this primary alone, or another writer has removed our marks.
}

// decideJoined decides about an object in which the primary has a part. Its part says what
// the primary renders, whatever the others render.
func (k *known) decideJoined(d *rules.Desired, live *watch.Object, share rules.Share) step {
	published, applied := share.Hash == d.HashString(), carriesRendering(live, d)
	agreed := len(dissenters(d, live, k.primary.UID)) == 0
	switch {
	case len(d.Waits) > 0 && !(published && applied):
		return skipFor(forValues)
	case !published && (applied || !agreed):
		return step{action: Shared}
	case !agreed && !applied:
		return step{action: Unchanged}
	case k.renew || drifted(d, live, k.written):
		return step{action: Configured}
	}
	return step{action: Unchanged}
}

// dissenters returns the parts of the other owners who render the object differently.
func dissenters(d *rules.Desired, live *watch.Object, self types.UID) []rules.Share {
	own := d.HashString()
	return slices.DeleteFunc(live.Shares(), func(s rules.Share) bool { return s.Hash == own || s.Owner.UID == self })
}

// joinable reports whether the primary may share the object: it was made for the same child
// of the same rule, and for primaries of the same kind.
func (k *known) joinable(d *rules.Desired, o *watch.Object) bool {
	return o.IsShared() && o.HasOwnLabel() && o.Rule() == d.Child.Rule.Name && o.Child() == d.Child.ID &&
		!slices.ContainsFunc(o.Shares(), func(s rules.Share) bool { return s.Owner.Kind != k.primary.Kind })
}

// share writes the primary's part of a shared object, and nothing else. The write needs no
// resourceVersion: it is right in any state of the object.
func (p *pass) share(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) (step, error) {
	if p.overtaken() {
		return step{}, errStale
	}
	version := live.GetResourceVersion()
	if err := w.rejected.stands(p, d.Hash, version); err != nil {
		return step{}, err
	}
	part := p.partIn(d)
	if claimed, _ := rules.ShareOf(live.Content(), p.req.UID); claimed == part {
		part.Hash = "" // Another writer has it now, and a write that changes nothing would not make it ours.
	}
	body, err := shareBody(live.GetUID(), "", p.req.UID, part.Value())
	if err != nil {
		return step{}, err
	}
	o, err := p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).merge(ctx, p.primary.children[d.Identity.GVK], d.Identity.Name, body)
	switch {
	case apierrors.IsConflict(err), answer.IsAbsent(err):
		return step{}, errStale
	case isTooManyShares(err):
		err = &terminalError{reasonRejected, refusedRetry, fmt.Errorf(
			"%s cannot be shared by more resources: the annotations of its %d owners fill the 256 KiB that the API server allows", d.Identity, len(live.ClaimedShares()))}
		return step{}, p.noteRejection(&w.rejected, d.Hash, version, err)
	case err != nil:
		return step{}, p.noteRejection(&w.rejected, d.Hash, version, classifyAnswer(err))
	}
	// The fields are not known to be as they were applied: drifted compares them.
	*w = written{identity: d.Identity, uid: o.GetUID(), version: o.GetResourceVersion(), object: o, damper: w.damper, dispute: w.dispute}
	if o.Terminating() {
		return skipFor(forDeletion), nil
	}
	p.did(Shared, d, p.trigger)
	return step{action: Shared}, nil
}

// partIn returns the primary's part of an object.
func (p *pass) partIn(d *rules.Desired) rules.Share {
	return rules.Share{Owner: p.req, Hash: d.HashString()}
}

// shareBody returns the body of a merge patch that sets the annotation of an owner, or
// removes it if the value is nil.
func shareBody(uid types.UID, version string, owner types.UID, value any) ([]byte, error) {
	metadata := map[string]any{"uid": uid, "annotations": map[string]any{rules.ShareKey(owner): value}}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// isTooManyShares reports whether the API server rejects one more annotation.
func isTooManyShares(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeTooLong)
	return apierrors.IsInvalid(err) && found && cause.Field == "metadata.annotations"
}

// sharesToApply returns the annotations of owners for an apply: that of the primary, and those
// of the others that an earlier apply set. The apply would remove them otherwise.
func (p *pass) sharesToApply(d *rules.Desired, state *watch.Object) (fields []rules.FieldValue) {
	parts := []rules.Share{p.partIn(d)}
	if state != nil {
		for _, s := range state.ClaimedShares() {
			if s.Owner.UID != p.req.UID && state.AppliedShare(s.Owner.UID) {
				parts = append(parts, s)
			}
		}
	}
	for _, s := range parts {
		fields = append(fields, rules.FieldValue{Path: []string{"metadata", "annotations", rules.ShareKey(s.Owner.UID)}, Value: s.Value()})
	}
	return fields
}

// reapplies reports whether the primary is the one of the owners that applies the object
// periodically.
func (p *pass) reapplies(d *rules.Desired, live *watch.Object) bool {
	if !d.Child.Shared || live == nil {
		return true
	}
	shares := live.Shares()
	return len(shares) == 0 || shares[0].Owner.UID == p.req.UID
}
