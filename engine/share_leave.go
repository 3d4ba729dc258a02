package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/answer"
	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// hasOtherOwners reports whether other primaries than the owner share an object that was
// read live. A part that reconcel did not write counts if its primary exists: another
// writer may have changed it, and the object must not be deleted by mistake.
func (e *Engine) hasOtherOwners(ctx context.Context, live *watch.Object, owner Request) (bool, error) {
	if _, shared := live.Share(owner); !shared {
		return false, nil
	}
	for _, s := range live.ClaimedShares() {
		if s.Owner.UID == owner.UID {
			continue
		}
		if live.BelongsTo(s.Owner) {
			return true, nil
		}
		if exists, err := e.exists(ctx, s.Owner); exists || err != nil {
			return exists, err
		}
	}
	return false, nil
}

// exists reads a primary live.
func (e *Engine) exists(ctx context.Context, primary Request) (bool, error) {
	k, err := discover.AnyVersion(ctx, e.kinds, primary.Kind)
	if gone, err := e.judgeMissing(ctx, primary.Kind, err); gone || err != nil {
		return false, err
	}
	if !k.Namespaced {
		primary.Namespace = ""
	}
	u, err := e.resource(k, primary.Namespace).Get(ctx, primary.Name, metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return false, nil
	}
	return err == nil && u.GetUID() == primary.UID, err
}

// leaveShared removes the part of an owner from an object that others share. It is valid for
// exactly the state that was read: if two leave at once, the second one is the last.
func (e *Engine) leaveShared(ctx context.Context, rule *rules.Rule, k Kind, live *watch.Object, owner Request) (released, error) {
	body, err := shareBody(live.GetUID(), live.GetResourceVersion(), owner.UID, nil)
	if err != nil {
		return released{}, err
	}
	o, err := e.writer(rule, owner, k, live.GetNamespace()).merge(ctx, e.watchOf(owner, k), live.GetName(), body)
	switch {
	case answer.IsAbsent(err):
		return released{}, nil
	case apierrors.IsConflict(err):
		return released{}, errStale
	case err != nil:
		return released{}, classifyAnswer(err)
	}
	e.logAction(Left, owner, live.Identity(k.GVK), live.Rule(), whyShared)
	return released{left: true, rest: o}, nil
}

// watchOf returns the watch of a kind of children for a primary, or nil.
func (e *Engine) watchOf(owner Request, k Kind) *watch.Watch {
	pl := e.plan.Load()
	if pl == nil || pl.primaries[owner.Kind] == nil {
		return nil
	}
	return pl.primaries[owner.Kind].children[k.GVK]
}

// staysAfter reports whether an object stays as it is when its primary is deleted. If others
// share it, the primary leaves it.
func staysAfter(rule *rules.Rule, o *watch.Object) bool {
	return outlivesPrimary(rule, o) && len(o.Shares()) < 2
}
