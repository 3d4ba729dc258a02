package engine

import (
	"context"
	"time"

	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
)

// RecordRejected records in the inventory what is wrong with the rules files while other rules are active, or
// with nil that they are active. Commands show it. Only the process that works writes it.
func (e *Engine) RecordRejected(r *inventory.Rejected) {
	e.rejected.Store(r)
	select {
	case e.rejections <- struct{}{}:
	default: // The last one is not recorded yet.
	}
}

// followRejected records the last rejection until ctx ends. At first, the inventory may have that
// of an earlier process.
func (e *Engine) followRejected(ctx context.Context) {
	const retryEvery = 5 * time.Second
	var problem outcome.Problem
	for ctx.Err() == nil {
		err := e.Inventory.SetRejected(ctx, e.rejected.Load())
		if ctx.Err() == nil && problem.IsNews(err) {
			e.Log.Warn("background task failed, will retry", "task", "rejected rules", "error", err)
		}
		if err != nil {
			outcome.Sleep(ctx, retryEvery)
			continue
		}
		select {
		case <-e.rejections:
		case <-ctx.Done():
		}
	}
}
