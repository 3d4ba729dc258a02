package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
)

// readInventory reads the inventory and retries until it succeeds, because the
// engine must not write anything without it.
func (e *Engine) readInventory(ctx context.Context) (orphaned inventory.Orphaned, read bool) {
	read = e.insist(ctx, func(ctx context.Context) error {
		var err error
		orphaned, err = e.inventory.Compare(ctx, e.program)
		return err
	})
	return orphaned, read
}

// insist retries a step that must succeed before the engine starts its work. It
// returns false if ctx ends first.
func (e *Engine) insist(ctx context.Context, try func(context.Context) error) bool {
	return retryBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil && ctx.Err() == nil {
			e.say(err.Error())
			e.log.Warn("start failed, will retry", "error", err)
		}
		return err == nil, nil
	}) == nil
}

// awaitCaches waits for the first list of every kind that exists and that the
// engine may read. A kind that cannot be listed blocks only its own rules, so the
// engine starts without it after 30 seconds.
func (e *Engine) awaitCaches(ctx context.Context, watches []*watch.Watch) bool {
	const patience = 30 * time.Second
	deadline := e.clock.Now().Add(patience)
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing := unsettled(watches)
		if len(missing) == 0 {
			return true, nil
		}
		e.say("waiting for " + strings.Join(missing, "; "))
		if !slices.ContainsFunc(watches, (*watch.Watch).Pending) || e.clock.Now().After(deadline) {
			e.log.Log(ctx, missingLevel(watches), "starting, some kinds are unavailable", "missing", missing)
			return true, nil
		}
		return false, nil
	})
	return err == nil
}

// missingLevel returns the log level for kinds without a cache. A kind that is
// still being listed needs no action.
func missingLevel(watches []*watch.Watch) slog.Level {
	for _, w := range watches {
		if slices.ContainsFunc(w.Problems(), func(err error) bool { return !discover.IsUnwatchable(err) && !errors.Is(err, watch.ErrNotListed) }) {
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
