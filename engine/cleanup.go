package engine

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/cleanup"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
)

// startCleanup starts the background tasks of a plan. They stop when ctx ends or
// another plan replaces this one. Watches do not show everything that rules left
// behind: a rule may no longer be loaded, or a primary may have lost the labels of
// the watch's selector while no process was running.
func (e *Engine) startCleanup(ctx context.Context, pl *plan.Plan) {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	pl.Stop = func() { cancel(); tasks.Wait() }
	do := func(f func()) {
		tasks.Add(1)
		e.background.Go(func() { defer tasks.Done(); f() })
	}
	for _, primary := range pl.Primaries {
		if primary.MayHaveDeselected() {
			do(func() { e.Cleanup.FindDeselected(ctx, primary) })
		}
	}
	do(func() { e.Admission.Recheck(ctx, pl) })
	if pl.Pending() {
		do(func() { e.Rollouts.WatchPending(ctx, pl) })
	}
	e.Cleanup.LogKept(pl.Orphaned.Kept)
	e.Cleanup.ReportHolds(pl)
	if e.DryRun != nil {
		do(func() { e.Cleanup.ForeseeCleanup(ctx, pl) })
		return
	}
	do(func() {
		// Wait for one interval first: the caches may not show yet what the last
		// reconciliation with the previous rules created.
		delay := cleanup.InventoryInterval
		for outcome.Sleep(ctx, delay); ctx.Err() == nil; outcome.Sleep(ctx, delay) {
			if err := e.Cleanup.RemoveUnusedKinds(ctx, pl); err == nil {
				delay = cleanup.InventoryInterval
			} else {
				delay = min(2*delay, cleanup.RestoreInterval)
			}
		}
	})
	do(func() {
		for outcome.Sleep(ctx, cleanup.InventoryInterval); ctx.Err() == nil; outcome.Sleep(ctx, cleanup.InventoryInterval) {
			e.Admission.Retain(ctx, pl)
		}
	})
	do(func() {
		var problem outcome.Problem
		_ = wait.PollUntilContextCancel(ctx, cleanup.RestoreInterval, false, func(ctx context.Context) (bool, error) {
			if err := e.Cleanup.RestoreInventory(ctx); ctx.Err() == nil && problem.IsNews(err) {
				e.Log.Warn("inventory not checked, will retry", "error", err)
			}
			return false, nil
		})
	})
	do(func() { e.Cleanup.RemoveOrphanedMarks(ctx, pl) })
	e.Cleanup.RetainAnnounced(pl.Orphaned.Removed)
	e.Metrics.Removing.Set(float64(len(pl.Orphaned.Removed)))
	for _, r := range pl.Orphaned.Removed {
		do(func() { e.Cleanup.DeleteRemovedRule(ctx, pl, r) })
	}
}
