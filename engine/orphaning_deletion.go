package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/answer"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A deletion with --cascade=orphan keeps the children. The API server then gives the primary the
// finalizer "orphan", and the garbage collector removes the owner references of the children before
// it removes the finalizer. It does not know of children in other namespaces, and nothing shows
// afterwards that there was such a finalizer. So each event of a primary is examined.

// noteOrphaning remembers that a primary is being deleted without its children.
func (e *Engine) noteOrphaning(req Request, o *watch.Object) {
	if o.Terminating() && slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		e.memories.get(req).orphaning.Store(true)
	}
}

// orphaning reports whether the primary is being deleted without its children.
func (p *pass) orphaning() bool { return p.self.Terminating() && p.memory.orphaning.Load() }

// disown removes the primary from the rule's objects that it was deleted without. The entries of
// finalize are not among them: they belong to the deletion.
func (p *pass) disown(ctx context.Context, r *rules.RuleResult) outcome {
	if !p.orphaning() {
		return outcome{}
	}
	total := outcome{}
	for k, o := range p.madeBy(r.Rule) {
		if p.leaves(o) || isEntry(r.Rule, o.Child()) || outlivesPrimary(r.Rule, o) {
			continue
		}
		if err := p.engine.disownObject(ctx, r.Rule, p.req, k, o); err != nil {
			total = worse(total, p.outcomeOf(position{rule: r.Rule.Name}.wrap(fmt.Errorf("orphan %s: %w", subjectOf(k, o), err))))
		}
	}
	return total
}

// disownObject removes the annotations that name a primary as the owner of an object.
func (e *Engine) disownObject(ctx context.Context, rule *rules.Rule, owner Request, k Kind, o *watch.Object) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "annotations": map[string]any{rules.AnnotationOwner: nil, rules.ShareKey(owner.UID): nil},
	}})
	if err != nil {
		return err
	}
	if _, err := e.writer(rule, owner, k, o.GetNamespace()).merge(ctx, nil, o.GetName(), body); err != nil && !answer.IsAbsent(err) {
		return classifyAnswer(err)
	}
	e.logAction(Left, owner, o.Identity(k.GVK), rule.Name, whyOrphaned)
	return nil
}
