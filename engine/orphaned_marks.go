package engine

import (
	"context"
	"fmt"
	"slices"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// removeOrphanedMarks removes the finalizers of removed rules and their reports, and
// retries until all are gone. No other controller removes the finalizers, and their objects
// could never be deleted. The rules' children stay.
func (e *Engine) removeOrphanedMarks(ctx context.Context, pl *plan) {
	orphaned := pl.orphaned.Finalizers
	e.untilDone(ctx, "finalizer cleanup", func(ctx context.Context) (problem error) {
		orphaned = slices.DeleteFunc(slices.Clone(orphaned), func(f inventory.Finalizer) bool {
			err := e.removeMarks(ctx, pl, f)
			if err != nil && (problem == nil || discover.IsNoKind(problem)) {
				problem = fmt.Errorf("rule %q, kind %s: %w", f.Rule, f.Kind, err)
			}
			return err == nil
		})
		return problem
	})
}

func (e *Engine) removeMarks(ctx context.Context, pl *plan, f inventory.Finalizer) error {
	if f.Primary() == rules.BundleKind.GroupKind() {
		return e.removeBundle(ctx, pl, f)
	}
	err := e.eachPrimary(ctx, f.Primary(), func(k Kind, o *watch.Object) error {
		if markOf(o, f.Rule) != "" {
			// First, because it holds for the state that was read.
			if err := e.removeFinalizer(ctx, k, o, f.Rule); err != nil {
				return err
			}
			e.log.Info("removed the finalizer or annotation of a removed rule", "object", subjectOf(k, o), "rule", f.Rule)
		}
		return e.removeOrphanedAnnotation(ctx, pl.primaries[f.Primary()], k, o)
	})
	if err != nil {
		return err
	}
	return e.inventory.RemoveFinalizer(ctx, f)
}

// removeOrphanedAnnotation removes the report of a removed rule, unless a loaded rule may
// ask for it: then a reconciliation of the primary decides.
func (e *Engine) removeOrphanedAnnotation(ctx context.Context, primary *primaryKind, k Kind, o *watch.Object) error {
	switch {
	case !e.annotator().hasPatched(o):
		return nil
	case primary != nil && slices.ContainsFunc(primary.Rules, func(r *rules.Rule) bool { return r.Annotates }):
		e.queue.Add(requestFor(primary.GVK.GroupKind(), o))
		return nil
	}
	return e.removeAnnotation(ctx, k, o)
}
