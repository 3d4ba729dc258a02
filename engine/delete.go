package engine

import (
	"context"

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
	live, err := p.engine.deleteOwned(ctx, rule, k, o, p.req, policy)
	if err != nil {
		return false, err
	}
	version := o.GetResourceVersion()
	if live != nil {
		version = live.GetResourceVersion()
	}
	p.memory.noteDeletion(o.GetUID(), deletion{identity: o.Identity(k.GVK), version: version})
	return live != nil, nil
}

// deleteOwned deletes one object of a rule that belongs to an owner, and returns the
// last state of the object, if any. All deletes of children go through here, and every
// caller has read the owner live. The object is read live first, and the delete holds
// for exactly the state that was read.
func (e *Engine) deleteOwned(ctx context.Context, rule *rules.Rule, k Kind, o *watch.Object, owner Request, policy metav1.DeletionPropagation) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
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
	if live.Terminating() {
		return nil, nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err = e.writer(rule, owner, k, o.GetNamespace()).delete(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &policy,
	})
	switch {
	case answer.IsAbsent(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, errStale // It changed between the read and the delete.
	case err != nil:
		return nil, classifyAnswer(err)
	}
	return live, nil
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
