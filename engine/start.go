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

// readInventory reads the inventory for as long as it takes: without it nothing
// may be written.
func (e *Engine) readInventory(ctx context.Context) (orphaned inventory.Orphaned, read bool) {
	read = e.insist(ctx, func(ctx context.Context) error {
		var err error
		orphaned, err = e.inventory.Compare(ctx, e.program)
		return err
	})
	return orphaned, read
}

// insist tries what has to succeed before the work begins, and returns false if
// ctx has ended before.
func (e *Engine) insist(ctx context.Context, try func(context.Context) error) bool {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
	return backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil && ctx.Err() == nil {
			e.say(err.Error())
			e.log.Warn("start failed, will retry", "error", err)
		}
		return err == nil, nil
	}) == nil
}

// awaitCaches waits until every kind that exists and may be read has been
// listed. A kind that cannot be listed holds back its own rules only, so that
// after a while work begins without it.
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

// missingLevel is how much people need to hear of kinds without a cache. One that
// is being listed needs nobody: it comes by itself.
func missingLevel(watches []*watch.Watch) slog.Level {
	for _, w := range watches {
		if slices.ContainsFunc(w.Problems(), func(err error) bool { return !discover.IsUnwatchable(err) && !errors.Is(err, watch.ErrNotListed) }) {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}

// unsettled names the kinds that have no cache yet.
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
