package engine

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// pruneAfter deletes the objects of a deleted primary that have no owner reference
// for the garbage collector.
func (e *Engine) pruneAfter(ctx context.Context, primary *primaryKind, req Request) error {
	var errs []error
	verdict := primary.plan.verdict.Load()
	for rule, watches := range primary.byRule {
		if verdict.refuses(rule) {
			continue
		}
		for _, w := range watches {
			c, err := w.Cache()
			if err != nil {
				continue
			}
			for o := range c.OwnedBy(req) {
				if !e.ofOtherInstallation(o, verdict.ownersOf(rule.Name)) {
					errs = append(errs, e.pruneOneAfter(ctx, c.Kind(), rule, o, req))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) pruneOneAfter(ctx context.Context, k Kind, rule *rules.Rule, o *watch.Object, gone Request) error {
	if _, controlled := o.Controller(); controlled || o.Rule() != rule.Name || o.LostReference() || o.Terminating() && len(o.Shares()) < 2 || staysAfter(rule, o) {
		return nil
	}
	id := o.Identity(k.GVK)
	was, err := e.deleteOwned(ctx, rule, k, o, gone, metav1.DeletePropagationBackground)
	if err != nil {
		return fmt.Errorf("%s is gone: delete %s: %w", gone, id, err)
	}
	if was.deleted != nil {
		e.logAction(Deleted, gone, id, rule.Name, whyEnded)
	}
	return nil
}

// pruneOrphanedAfter deletes what removed rules left behind for a deleted primary.
func (e *Engine) pruneOrphanedAfter(ctx context.Context, primary *primaryKind, gone Request) error {
	var errs []error
	for _, l := range primary.orphanedObjects.list(gone) {
		var why string
		if l.object != nil {
			_, err := e.deleteOwned(ctx, l.rule, l.kind, l.object, gone, metav1.DeletePropagationBackground)
			if err != nil && !errors.Is(err, errStale) {
				why = err.Error()
				errs = append(errs, fmt.Errorf("%s is gone: delete the orphaned objects of rule %q: %w", gone, l.rule.Name, err))
			}
		}
		primary.orphanedObjects.note(gone, l, why)
	}
	return errors.Join(errs...)
}
