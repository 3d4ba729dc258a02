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
	k, err := discover.AnyVersion(ctx, e.kinds, s.Primary())
	if discover.IsNoKind(err) {
		return nil // The kind is gone, and its objects with it.
	}
	if err != nil {
		return err
	}
	return e.eachOf(ctx, k, func(o *watch.Object) error {
		if !slices.Contains(o.GetFinalizers(), rules.Finalizer(s.Rule)) {
			return nil
		}
		if err := e.removeFinalizer(ctx, k, o, s.Rule); err != nil {
			return err
		}
		subject := subjectOf(k, o)
		e.log.Info("removed the finalizer of a removed rule", "object", subject, "rule", s.Rule)
		return nil
	})
}
