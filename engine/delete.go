package engine

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/answer"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// remove deletes one object of a rule that the primary no longer needs.
func (p *pass) remove(ctx context.Context, rule *rules.Rule, k Kind, o *watch.Object) error {
	deleted, err := p.removeConfirmed(ctx, rule, k, o, propagation(rule, o))
	if deleted {
		p.pruned(k, o)
	}
	return err
}

// removeConfirmed deletes one object of a rule after a live read of the primary, so
// that a stale cache cannot cause a deletion. It reports whether there was an object.
func (p *pass) removeConfirmed(ctx context.Context, rule *rules.Rule, k Kind, o *watch.Object, policy metav1.DeletionPropagation) (deleted bool, err error) {
	if err := p.confirm(ctx); err != nil {
		return false, err
	}
	was, err := p.engine.deleteOwned(ctx, rule, k, o, p.req, policy)
	if err != nil {
		return false, err
	}
	if was.left {
		p.noteLeft(o.Identity(k.GVK), was.rest)
		return false, nil
	}
	version := o.GetResourceVersion()
	if was.deleted != nil {
		version = was.deleted.GetResourceVersion()
	}
	p.memory.noteDeletion(o.GetUID(), deletion{identity: o.Identity(k.GVK), version: version})
	return was.deleted != nil, nil
}

// noteLeft remembers the state of a shared object without the primary's part, if it is known.
func (p *pass) noteLeft(id rules.Identity, rest *watch.Object) {
	w := p.memory.child(id)
	*w = written{identity: id, damper: w.damper, removed: true, object: rest}
	if rest != nil {
		w.version = rest.GetResourceVersion()
	}
}

// released is what became of an object that its owner no longer needs. The zero value means
// that there is no such object any more, or that it is being deleted.
type released struct {
	deleted *watch.Object // its last state
	left    bool          // others share it
	rest    *watch.Object // its state without the owner's part; nil: unknown
}

// mostLeaves is how often an owner tries at once to leave an object that others leave, too.
const mostLeaves = 5

// deleteOwned deletes one object of a rule that belongs to an owner, or removes the owner's
// part from it if others share it. All deletes of children go through here, and every
// caller has read the owner live. The object is read live first, and the write holds
// for exactly the state that was read.
func (e *Engine) deleteOwned(ctx context.Context, rule *rules.Rule, k Kind, o *watch.Object, owner Request, policy metav1.DeletionPropagation) (was released, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for range mostLeaves {
		live, err := e.readOwned(ctx, k, o, owner)
		if live == nil || err != nil {
			return released{}, err
		}
		shared, err := e.hasOtherOwners(ctx, live, owner)
		switch {
		case err != nil:
			return released{}, err
		case shared:
			was, err = e.leaveShared(ctx, rule, k, live, owner)
		case live.Terminating(), live.IsShared() && outlivesPrimary(rule, live):
			return released{}, nil
		default:
			was, err = e.deleteLive(ctx, rule, k, live, owner, policy)
		}
		if !errors.Is(err, errStale) || !live.IsShared() {
			return was, err
		}
	}
	return released{}, errStale
}

// readOwned reads an object of an owner live. It returns nil if there is none, and an error if it
// is not as it was when the caller decided.
func (e *Engine) readOwned(ctx context.Context, k Kind, o *watch.Object, owner Request) (*watch.Object, error) {
	u, err := e.resource(k, o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live := watch.NewObject(u, watch.Child)
	if live.GetUID() != o.GetUID() || !live.BelongsTo(owner) || live.Rule() != o.Rule() || live.Orphan() != o.Orphan() || live.Installation() != o.Installation() {
		return nil, errStale
	}
	return live, nil
}

// deleteLive deletes an object in exactly the state that was read.
func (e *Engine) deleteLive(ctx context.Context, rule *rules.Rule, k Kind, live *watch.Object, owner Request, policy metav1.DeletionPropagation) (released, error) {
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := e.writer(rule, owner, k, live.GetNamespace()).delete(ctx, live.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &policy,
	})
	switch {
	case answer.IsAbsent(err):
		return released{}, nil
	case apierrors.IsConflict(err):
		return released{}, errStale // It changed between the read and the delete.
	case err != nil:
		return released{}, classifyAnswer(err)
	}
	return released{deleted: live}, nil
}

// pruned reports a deletion in the log and as an Event.
func (p *pass) pruned(k Kind, o *watch.Object) {
	why := whyUnrendered
	if !p.matches() {
		why = whyDeselected
	}
	id := o.Identity(k.GVK)
	p.engine.logAction(Deleted, p.req, id, o.Rule(), why)
	p.engine.events.normal(p.self, reasonPruned, "deleted "+id.String()+", which is no longer rendered")
}
