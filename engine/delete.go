package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// remove deletes one object of a rule that the primary no longer needs.
func (p *pass) remove(ctx context.Context, rule *rules.Rule, k Kind, o *watch.Object) error {
	deleted, err := p.take(ctx, rule, k, o, metav1.DeletePropagationBackground)
	if deleted != nil {
		p.pruned(k, deleted)
	}
	return err
}

// take deletes one object of a rule after a live read of the primary, so that a
// stale cache cannot cause a deletion. It returns the deleted object, if any.
func (p *pass) take(ctx context.Context, rule *rules.Rule, k Kind, o *watch.Object, policy metav1.DeletionPropagation) (*unstructured.Unstructured, error) {
	if err := p.confirm(ctx); err != nil {
		return nil, err
	}
	deleted, err := p.engine.deleteConfirmed(ctx, p.engine.writer(rule, p.req, k, o.GetNamespace()), k, o, p.req, policy)
	if err != nil {
		return nil, err
	}
	version := o.GetResourceVersion()
	if deleted != nil {
		version = deleted.GetResourceVersion()
	}
	p.memory.noteDeletion(o.GetUID(), deletion{identity: o.Identity(k.GVK), version: version})
	return deleted, nil
}

// deleteConfirmed deletes one object that belongs to an owner. All deletes go
// through here, and every caller has read the owner live. The object is read live
// first, and the delete holds for exactly the state that was read.
func (e *Engine) deleteConfirmed(ctx context.Context, by deleter, k Kind, o *watch.Object, owner Request, policy metav1.DeletionPropagation) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := e.resource(k, o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := watch.NewObject(live, watch.Child)
	if live.GetUID() != o.GetUID() || !now.BelongsTo(owner) || now.Rule() != o.Rule() || now.Orphan() != o.Orphan() || now.Installation() != o.Installation() {
		return nil, errStale
	}
	if now.Terminating() {
		return nil, nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err = by.Delete(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &policy,
	})
	switch {
	case isAbsent(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, errStale // It changed between the read and the delete.
	case err != nil:
		return nil, classifyAnswer(err)
	}
	e.metrics.writes.WithLabelValues("delete", k.GVK.Kind).Inc()
	return live, nil
}

// pruned reports a deletion in the log and as an Event.
func (p *pass) pruned(k Kind, u *unstructured.Unstructured) {
	subject := formatName(k.GVK.Kind, u.GetNamespace(), u.GetName())
	why := whyUnrendered
	if !p.matches() {
		why = whyDeselected
	}
	p.engine.told(Deleted, p.req, subject, u.GetLabels()[rules.LabelRule], k, why)
	p.engine.events.normal(p.self, reasonPruned, "deleted "+subject+", which is no longer rendered")
}
