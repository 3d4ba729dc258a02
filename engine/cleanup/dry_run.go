package cleanup

import (
	"context"
	"errors"

	"reconcel/engine/ident"
	"reconcel/engine/plan"
)

// ForeseeCleanup records what the cleanup of removed rules would do, as often as the leader tries it,
// until nothing is left.
func (c *Cleanup) ForeseeCleanup(ctx context.Context, pl *plan.Plan) {
	for _, r := range pl.Orphaned.Removed {
		c.Log.Info("rule would be removed", "rule", r.Name, "kind", r.For)
	}
	_ = removalBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		return c.TryForesee(ctx, pl) == 0, nil
	})
}

// TryForesee returns the number of changes that the cleanup wants now.
func (c *Cleanup) TryForesee(ctx context.Context, pl *plan.Plan) (left int) {
	foresee := func(task ident.Request, do func(context.Context) error) {
		ctx, writes := c.DryRun.Begin(ctx)
		if err := do(ctx); err != nil {
			c.Log.Debug("cleanup not foreseen, will retry", "rule", task.Name, "error", err)
			left++
			return
		}
		changes := writes()
		left += len(changes)
		c.Reconciler.WouldWrite(task, changes)
	}
	for _, f := range pl.Orphaned.Finalizers {
		foresee(ident.Request{Kind: f.Primary(), Name: f.Rule},
			func(ctx context.Context) error { return c.RemoveMarks(ctx, pl, f) })
	}
	for _, r := range pl.Orphaned.Removed {
		foresee(ident.Request{Kind: r.Primary(), Name: "rule " + r.Name}, func(ctx context.Context) error {
			_, problems := c.TryDeleteRemovedRule(ctx, pl, r)
			if len(problems) > 0 {
				return errors.New(joinFirst(problems))
			}
			return nil
		})
	}
	return left
}
