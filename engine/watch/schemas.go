package watch

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
	"reconcel/rules/schema"
)

// A Watcher requests the schema of a new kind at this interval, this many times, and then with growing
// intervals. The API server publishes it with a delay, and an aggregated API may have none.
const (
	schemaRetry   = time.Second
	schemaRetries = 30
)

func lateSchemaBackoff() wait.Backoff {
	return wait.Backoff{Duration: schemaPoll, Factor: 2, Jitter: 0.1, Steps: 100, Cap: 5 * time.Minute}
}

// schemaPoll is how often a Watcher checks for changed schemas, and how long a check may take. Each
// check is one request of about 10 KB, for which the API server has no ETag. It is also the only
// request at rest, so it shows that the API server cannot be reached.
const schemaPoll = 10 * time.Second

// GetsConditions reports whether reconcel writes conditions into the objects:
// primaries of a custom kind.
func (w *Watch) GetsConditions() bool { return w.Role == Primary && w.IsCustom() }

// IsCustom reports whether the kind is not one of Kubernetes' own.
func (w *Watch) IsCustom() bool { return !schema.BuiltInGroup(w.GVK.Group) }

// learnOwnership reads how owners are recorded in the objects of a custom kind.
func (ws *Watcher) learnOwnership(ctx context.Context, w *Watch, c *Cache) {
	if !w.IsCustom() {
		return
	}
	var err error
	learn := func(ctx context.Context) bool {
		var found discover.Ownership
		if found, err = ws.Kinds.Ownership(ctx, c.kind.GVK); err == nil {
			c.ownership.Store(&found)
			w.onListed()
		}
		return err == nil
	}
	tries := 0
	_ = wait.PollUntilContextCancel(ctx, schemaRetry, true, func(ctx context.Context) (bool, error) {
		tries++
		return learn(ctx) || tries >= schemaRetries, nil
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	if w.GetsConditions() {
		ws.Log.Warn("schema not published, conditions are not written", "kind", c.kind.GVK.String(), "error", err)
	}
	unknown := &discover.Ownership{}
	c.ownership.Store(unknown)
	w.onListed()
	_ = lateSchemaBackoff().DelayFunc().Until(ctx, false, false, func(ctx context.Context) (bool, error) {
		return c.ownership.Load() != unknown || learn(ctx), nil // relearnOwnership may have been faster.
	})
}

// FollowSchemas polls the cluster's schemas until ctx ends. It calls published with
// each new state. It calls changed when schemas of watched kinds have changed, before
// their watches notify: a rejected write may be accepted now.
func (ws *Watcher) FollowSchemas(ctx context.Context, watches func() []*Watch, changed func(),
	published func(discover.Schemas)) {
	var last discover.Schemas
	learned := discover.Schemas{} // the states from which ownership was learned
	_ = wait.PollUntilContextCancel(ctx, schemaPoll, false, func(ctx context.Context) (bool, error) {
		now, err := ws.readSchemas(ctx)
		if err != nil {
			ws.Log.Debug("schemas unavailable, will retry", "error", err)
			return false, nil
		}
		if affected := ws.relearnAll(ctx, watches(), learned, now); len(affected) > 0 {
			changed()
			for _, w := range affected {
				w.onListed()
			}
		}
		if !maps.Equal(last, now) {
			last = now
			published(now)
		}
		return false, nil
	})
}

func (ws *Watcher) readSchemas(ctx context.Context) (discover.Schemas, error) {
	ctx, cancel := context.WithTimeout(ctx, schemaPoll)
	defer cancel()
	return discover.ReadSchemas(ctx, ws.Discovery)
}

// relearnAll reads the ownership again where a schema differs from the learned one, and
// updates learned. It returns the watches whose schemas have changed.
func (ws *Watcher) relearnAll(ctx context.Context, watches []*Watch,
	learned, now discover.Schemas) (affected []*Watch) {
	read, failed := discover.Schemas{}, discover.Schemas{}
	for _, w := range watches {
		gv := w.GVK.GroupVersion()
		url, served := now[gv]
		if !served || learned[gv] == url {
			continue
		}
		read[gv] = url
		if other, err := ws.relearnOwnership(ctx, w); err != nil {
			ws.Log.Debug("schema unavailable, will retry", "kind", w.GVK.String(), "error", err)
			failed[gv] = url
		} else if other || learned[gv] != "" {
			affected = append(affected, w)
		}
	}
	for gv, url := range read {
		if _, again := failed[gv]; !again {
			learned[gv] = url
		}
	}
	return affected
}

// relearnOwnership reports whether the list type of a kind's conditions or its granular fields have
// changed. If the kind itself has changed, for example by gaining the status subresource, it is
// listed again.
func (ws *Watcher) relearnOwnership(ctx context.Context, w *Watch) (changed bool, err error) {
	c := w.cache.Load()
	if c == nil {
		return false, nil // It is read after the first list.
	}
	ctx, cancel := context.WithTimeout(ctx, schemaPoll) // An API that does not answer must not hold up the others.
	defer cancel()
	if k, err := ws.Kinds.Find(ctx, w.GVK); err == nil && !k.Alike(c.kind) {
		ws.Log.Info("kind changed, restarting its watch", "kind", w.GVK.String())
		c.end()
		return false, nil
	}
	if !w.IsCustom() {
		return false, nil
	}
	before := c.ownership.Load()
	if before == nil {
		return false, fmt.Errorf("the schema of %s is not known yet", w.GVK.Kind)
	}
	now, err := ws.Kinds.Ownership(ctx, c.kind.GVK)
	if err != nil || reflect.DeepEqual(now, *before) {
		return false, err
	}
	c.ownership.Store(&now)
	if now.Conditions != before.Conditions && w.GetsConditions() {
		ws.Log.Info("schema of conditions changed", "kind", w.GVK.String())
	}
	return true, nil
}
