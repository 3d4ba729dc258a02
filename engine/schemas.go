package engine

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
)

// schemaPoll is how often the API server is asked whether schemas have changed:
// one request of about 10 KB, for which it has no tag.
const schemaPoll = 10 * time.Second

// Schemas returns a channel that receives the state of the cluster's schemas
// when it has changed, and at first. Only the latest one waits there.
func (e *Engine) Schemas() <-chan discover.Schemas { return e.schemas }

// followSchemas looks from time to time whether schemas have changed, until ctx
// ends. Then how conditions are written is learned again.
func (e *Engine) followSchemas(ctx context.Context) {
	var told discover.Schemas
	learned := discover.Schemas{} // from which state how conditions are written was learned
	_ = wait.PollUntilContextCancel(ctx, schemaPoll, false, func(ctx context.Context) (bool, error) {
		now, err := discover.ReadSchemas(ctx, e.watches.discovery)
		if err != nil {
			e.log.Debug("schemas unavailable, will retry", "error", err)
			return false, nil
		}
		e.relearn(ctx, learned, now)
		if !maps.Equal(told, now) {
			told = now
			select { // Nobody else sends: now there is room.
			case <-e.schemas:
			default:
			}
			e.schemas <- now
		}
		return false, nil
	})
}

// relearn learns again how conditions are written of the kinds whose schemas may
// have changed, and has everything looked at that has to do with them: what was
// refused may be welcome now. It notes the state that it has learned from.
func (e *Engine) relearn(ctx context.Context, learned, now discover.Schemas) {
	pl := e.plan.Load()
	if pl == nil {
		return
	}
	var changed []*watch
	read, unread := discover.Schemas{}, discover.Schemas{}
	for _, w := range pl.watches {
		gv := w.key.gvk.GroupVersion()
		address, served := now[gv]
		if !served || learned[gv] == address {
			continue
		}
		read[gv] = address
		if err := e.watches.relearnConditions(ctx, w); err != nil {
			e.log.Debug("schema unavailable, will retry", "kind", w.key.gvk.String(), "error", err)
			unread[gv] = address
		} else if learned[gv] != "" {
			changed = append(changed, w)
		}
	}
	if len(changed) > 0 {
		e.schemaChanges.Add(1)
	}
	for _, w := range changed {
		w.onReady()
	}
	for gv, address := range read {
		if _, again := unread[gv]; !again {
			learned[gv] = address
		}
	}
}

// relearnConditions looks at every primary of a kind if its conditions are to be
// written in another way than before. Where it is the kind that is another one,
// with the status subresource or without, it is followed anew.
func (ws *watches) relearnConditions(ctx context.Context, w *watch) error {
	c := w.cached.Load()
	if c == nil {
		return nil // They are learned when there is a cache.
	}
	if k, err := ws.kinds.Find(ctx, w.key.gvk); err == nil && k != c.kind {
		ws.log.Info("kind changed, restarting its watch", "kind", w.key.gvk.String())
		c.over()
		return nil
	}
	if !w.getsConditions() {
		return nil
	}
	before := c.conditions.Load()
	if before == nil {
		return fmt.Errorf("the schema of %s is not known yet", w.key.gvk.Kind)
	}
	now, err := ws.kinds.Conditions(ctx, c.kind.GVK)
	if err != nil {
		return err
	}
	if now == *before {
		return nil
	}
	ws.log.Info("schema of conditions changed", "kind", w.key.gvk.String())
	c.conditions.Store(&now)
	w.onReady()
	return nil
}
