package engine

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// Schemas returns a channel that receives the first and each new state of the
// cluster's schemas. It buffers only the latest state.
func (e *Engine) Schemas() <-chan discover.Schemas { return e.schemas }

// followSchemas publishes the state of the cluster's schemas until ctx ends.
func (e *Engine) followSchemas(ctx context.Context) {
	watches := func() []*watch.Watch {
		if pl := e.Plan.Load(); pl != nil {
			return pl.Watches
		}
		return nil
	}
	changed := func() { e.SchemaChanges.Add(1) }
	e.watcher.FollowSchemas(ctx, watches, changed, func(now discover.Schemas) {
		select { // This is the only sender, so the channel then has room.
		case <-e.schemas:
		default:
		}
		e.schemas <- now
	})
}

// Learn tells the engine the schemas of the kinds of rules, which say which fields hold decimal
// numbers. The rules may not be active yet. If these fields of a kind have changed, the primaries
// whose rules use the kind are reconciled. Call it from one goroutine at a time.
func (e *Engine) Learn(schemas *kindschema.Set, of *rules.Program) {
	before := e.Cluster.NumberFields()
	now := before.With(schemas, of.UsedKinds())
	e.Numbers.Store(&now)
	pl := e.Plan.Load()
	if pl == nil {
		return // Nothing was rendered yet.
	}
	for _, pk := range pl.Primaries {
		changed := func(gvk schema.GroupVersionKind) bool { return !reflect.DeepEqual(before[gvk], now[gvk]) }
		if pk.UsesKind(changed) {
			pk.Watch.Replay()
			e.Router.EnqueueBundles(pk, pk.Rules)
		}
	}
}
