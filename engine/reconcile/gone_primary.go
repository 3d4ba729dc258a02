package reconcile

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// pruneAfter deletes the objects of a deleted primary that have no owner reference
// for the garbage collector.
func (e *Reconciler) pruneAfter(ctx context.Context, primary *plan.PrimaryKind, req ident.Request) error {
	var errs []error
	admitted := primary.Plan.Admitted.Load()
	for rule, watches := range primary.ByRule {
		if admitted.Refuses(rule) {
			continue
		}
		for _, w := range watches {
			c, err := w.Cache()
			if err != nil {
				continue
			}
			for o := range c.OwnedBy(req) {
				if !e.Cluster.OfOtherInstallation(o, admitted.OwnersOf(rule.Name)) {
					errs = append(errs, e.pruneOneAfter(ctx, c.Kind(), rule, o, req))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (e *Reconciler) pruneOneAfter(ctx context.Context, k ident.Kind, rule *rules.Rule, o *watch.Object,
	gone ident.Request) error {
	if _, controlled := o.Controller(); controlled || o.Rule() != rule.Name || o.LostReference() ||
		len(o.Shares()) < 2 && (o.Terminating() || decide.OutlivesPrimary(rule, o)) {
		return nil
	}
	id := o.Identity(k.GVK)
	was, err := e.Cluster.DeleteOwned(ctx, rule, k, o, gone, metav1.DeletePropagationBackground, access.Stays)
	if err != nil {
		return fmt.Errorf("%s is gone: delete %s: %w", gone, id, err)
	}
	if was.Deleted != nil {
		e.Cluster.LogAction(outcome.Deleted, gone, id, rule.Name, decide.WhyEnded)
	}
	return nil
}

// pruneOrphanedAfter deletes what removed rules left behind for a deleted primary.
func (e *Reconciler) pruneOrphanedAfter(ctx context.Context, primary *plan.PrimaryKind, gone ident.Request) error {
	var errs []error
	for _, l := range primary.OrphanedObjects.List(gone) {
		var why string
		if l.Object != nil {
			was, err := e.Cluster.DeleteOwned(ctx, l.Rule, l.Kind, l.Object, gone, metav1.DeletePropagationBackground,
				access.Stays)
			if was.Deleted != nil {
				e.Cluster.LogAction(outcome.Deleted, gone, l.Object.Identity(l.Kind.GVK), l.Rule.Name, decide.WhyEnded)
			}
			if err != nil && !errors.Is(err, decide.ErrStale) {
				why = err.Error()
				errs = append(errs, fmt.Errorf("%s is gone: delete the orphaned objects of rule %q: %w", gone, l.Rule.Name, err))
			}
		}
		primary.OrphanedObjects.Note(gone, l, why)
	}
	return errors.Join(errs...)
}
