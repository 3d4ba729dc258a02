package engine

import (
	"context"
	"fmt"
	"slices"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// removeOrphanedFinalizers removes the finalizers of removed rules and retries
// until all are gone: no other controller removes them, and their objects could
// never be deleted. The rules' children stay.
func (e *Engine) removeOrphanedFinalizers(ctx context.Context, stale []inventory.Finalizer) {
	e.untilDone(ctx, "finalizer cleanup", func(ctx context.Context) error {
		for len(stale) > 0 {
			if err := e.removeOrphanedFinalizer(ctx, stale[0]); err != nil {
				return fmt.Errorf("rule %q, kind %s: %w", stale[0].Rule, stale[0].Kind, err)
			}
			if err := e.inventory.RemoveFinalizer(ctx, stale[0]); err != nil {
				return err
			}
			stale = stale[1:]
		}
		return nil
	})
}

func (e *Engine) removeOrphanedFinalizer(ctx context.Context, s inventory.Finalizer) error {
	return e.eachPrimary(ctx, s.Primary(), func(k Kind, o *watch.Object) error {
		if !slices.Contains(o.GetFinalizers(), rules.Finalizer(s.Rule)) {
			return nil
		}
		if err := e.removeFinalizer(ctx, k, o, s.Rule); err != nil {
			return err
		}
		e.log.Info("removed the finalizer of a removed rule", "object", subjectOf(k, o), "rule", s.Rule)
		return nil
	})
}
