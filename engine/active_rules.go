package engine

import (
	"context"
	"slices"

	"reconcel/engine/plan"
	"reconcel/engine/watch"
)

// startFresh starts the watches of a plan that do not run yet, and waits for their first list.
func (e *Engine) startFresh(ctx context.Context, pl *plan.Plan, running []*watch.Watch) error {
	e.Router.Route(pl)
	var fresh []*watch.Watch
	for _, w := range pl.Watches {
		if !slices.Contains(running, w) {
			fresh = append(fresh, w)
			e.watcher.Start(ctx, w)
		}
	}
	return e.awaitFresh(ctx, fresh)
}
