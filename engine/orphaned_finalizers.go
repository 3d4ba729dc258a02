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

// removeOrphanedFinalizers removes the finalizers of removed rules and retries
// until all are gone: no other controller removes them, and their objects could
// never be deleted. The rules' children stay.
func (e *Engine) removeOrphanedFinalizers(ctx context.Context, orphaned []inventory.Finalizer) {
	e.untilDone(ctx, "finalizer cleanup", func(ctx context.Context) (problem error) {
		orphaned = slices.DeleteFunc(slices.Clone(orphaned), func(f inventory.Finalizer) bool {
			err := e.removeOrphanedFinalizer(ctx, f)
			if err != nil && (problem == nil || discover.IsNoKind(problem)) {
				problem = fmt.Errorf("rule %q, kind %s: %w", f.Rule, f.Kind, err)
			}
			return err == nil
		})
		return problem
	})
}

func (e *Engine) removeOrphanedFinalizer(ctx context.Context, f inventory.Finalizer) error {
	err := e.eachPrimary(ctx, f.Primary(), func(k Kind, o *watch.Object) error {
		if !slices.Contains(o.GetFinalizers(), rules.Finalizer(f.Rule)) {
			return nil
		}
		if err := e.removeFinalizer(ctx, k, o, f.Rule); err != nil {
			return err
		}
		e.log.Info("removed the finalizer of a removed rule", "object", subjectOf(k, o), "rule", f.Rule)
		return nil
	})
	if err != nil {
		return err
	}
	return e.inventory.RemoveFinalizer(ctx, f)
}
