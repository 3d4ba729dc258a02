package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/rules/source"
)

// readInventory reads the inventory and retries until it succeeds, because the
// engine must not write anything without it.
func (e *Engine) readInventory(ctx context.Context, program *rules.Program) (orphaned inventory.Orphaned, read bool) {
	read = e.insist(ctx, func(ctx context.Context) error {
		var err error
		orphaned, err = e.Cluster.Orphaned(ctx, program)
		return err
	})
	return orphaned, read
}

// runInstead returns the plan for the program that was approved: the given one, or another one that takes
// over its watches. It returns nil if ctx has ended.
func (e *Engine) runInstead(ctx context.Context, pl *plan.Plan, approved *rules.Program) *plan.Plan {
	if ctx.Err() != nil {
		return nil
	}
	if approved == pl.Loaded {
		return pl
	}
	orphaned, read := e.readInventory(ctx, approved)
	if !read {
		return nil
	}
	next := e.Router.Route(plan.NewPlan(e.Options.Namespace, plan.AllActive(approved), orphaned, pl.Watches))
	for _, w := range next.Watches {
		if !slices.Contains(pl.Watches, w) {
			e.watcher.Start(ctx, w)
		}
	}
	pl.StopOthers(next)
	return next
}

// LastFiles returns the rules files that became active last in this installation, from the same source: none
// if there are none. It retries until the API server answers or ctx ends.
func (e *Engine) LastFiles(ctx context.Context) (files []source.File, err error) {
	read := e.insist(ctx, func(ctx context.Context) error {
		files, err = e.Inventory.LastFiles(ctx)
		if errors.Is(err, inventory.ErrDamaged) || apierrors.IsForbidden(err) {
			return nil
		}
		return err
	})
	if !read {
		return nil, ctx.Err()
	}
	return files, err
}

// insist retries a step that must succeed before the engine starts its work. It
// returns false if ctx ends first.
func (e *Engine) insist(ctx context.Context, try func(context.Context) error) bool {
	return outcome.RetryBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil && ctx.Err() == nil {
			e.tellFailedStart(err)
		}
		return err == nil, nil
	}) == nil
}

// tellFailedStart tells why the engine does not start yet. The log has an error when it is new, and then from time to
// time.
func (e *Engine) tellFailedStart(err error) {
	e.say(err.Error())
	if e.failedStarts.IsLogged("the log", err.Error(), e.Clock.Now()) {
		e.Log.Warn("start failed, will retry", "error", err)
	}
}

// awaitCaches waits for the first list of every kind that exists and that the
// engine may read. A kind that cannot be listed blocks only its own rules, so the
// engine starts without a kind whose list takes more than 30 seconds.
func (e *Engine) awaitCaches(ctx context.Context, watches []*watch.Watch) bool {
	const patience = 30 * time.Second
	began := e.Clock.Now()
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing := unsettled(watches)
		if len(missing) == 0 {
			return true, nil
		}
		e.say("waiting for " + strings.Join(missing, "; "))
		if waited := e.Clock.Since(began); !pending(watches, waited) || waited > patience {
			e.Log.Log(ctx, missingLevel(watches), "starting, some kinds are unavailable", "missing", missing)
			return true, nil
		}
		return false, nil
	})
	return err == nil
}

func pending(watches []*watch.Watch, waited time.Duration) bool {
	return slices.ContainsFunc(watches, func(w *watch.Watch) bool { return w.Pending(waited) })
}

// missingLevel returns the log level for kinds without a cache. A kind that is
// still being listed needs no action.
func missingLevel(watches []*watch.Watch) slog.Level {
	for _, w := range watches {
		if slices.ContainsFunc(w.Problems(), func(err error) bool {
			return !discover.IsUnwatchable(err) && !errors.Is(err, watch.ErrNotListed)
		}) {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}

// unsettled returns the kinds without a cache, with the reason.
func unsettled(watches []*watch.Watch) (missing []string) {
	for _, w := range watches {
		for _, err := range w.Problems() {
			if !discover.IsUnwatchable(err) {
				missing = append(missing, fmt.Sprintf("%s: %s", w.GVK.Kind, err))
			}
		}
	}
	return missing
}

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
