package engine

import (
	"context"

	"reconcel/engine/discover"
	"reconcel/engine/watch"
)

// Schemas returns a channel that receives the first and each new state of the
// cluster's schemas. It buffers only the latest state.
func (e *Engine) Schemas() <-chan discover.Schemas { return e.schemas }

// followSchemas publishes the state of the cluster's schemas until ctx ends.
func (e *Engine) followSchemas(ctx context.Context) {
	watches := func() []*watch.Watch {
		if pl := e.plan.Load(); pl != nil {
			return pl.watches
		}
		return nil
	}
	changed := func() { e.schemaChanges.Add(1) }
	e.watcher.FollowSchemas(ctx, watches, changed, func(now discover.Schemas) {
		select { // This is the only sender, so the channel then has room.
		case <-e.schemas:
		default:
		}
		e.schemas <- now
	})
}
