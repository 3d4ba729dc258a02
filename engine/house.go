package engine

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/rules"
)

// houseInterval is how often the inventory is cleared of kinds.
const houseInterval = 5 * time.Second

// keepHouse does what there is to do beside the passes, until ctx ends or the
// plan is not followed any more.
func (e *Engine) keepHouse(ctx context.Context, pl *plan) {
	ctx, cancel := context.WithCancel(ctx)
	var house sync.WaitGroup
	pl.stop = func() { cancel(); house.Wait() }
	do := func(f func()) {
		house.Add(1)
		e.watches.running.Go(func() { defer house.Done(); f() })
	}
	do(func() {
		// Not at once: the caches may not show yet what the last pass by other
		// rules has made.
		_ = wait.PollUntilContextCancel(ctx, houseInterval, false, func(ctx context.Context) (bool, error) {
			e.clearKinds(ctx, pl)
			return false, nil
		})
	})
	do(func() { e.recheck(ctx, pl) })
	do(func() { e.sweepFinalizers(ctx, pl.former.finalizers) })
	e.tellKept(pl.former.kept)
	e.announcements.retain(pl.former.removed)
	e.metrics.removing.Set(float64(len(pl.former.removed)))
	for _, r := range pl.former.removed {
		do(func() { e.sweepRemoved(ctx, pl, r) })
	}
	for _, primary := range pl.primaries {
		if primary.mayHaveLeavers() {
			do(func() { e.lookForLeavers(ctx, primary) })
		}
	}
}

// clearKinds takes the kinds that rules no longer render out of the inventory,
// each as soon as nothing of it is left.
func (e *Engine) clearKinds(ctx context.Context, pl *plan) {
	for _, primary := range pl.primaries {
		for _, r := range primary.Rules {
			for _, w := range primary.byRule[r] {
				e.clearKind(ctx, pl.former.children, r, w)
			}
		}
	}
}

func (e *Engine) clearKind(ctx context.Context, former map[string][]schema.GroupVersionKind, r *rules.Rule, w *watch) {
	cache := w.cached.Load()
	if cache == nil || !cache.complete() {
		return
	}
	for i, gvk := range former[r.Name] {
		if gvk != w.key.gvk || cache.holds(r.Name) {
			continue
		}
		if err := e.inventory.drop(ctx, r.Name, gvk); err != nil {
			e.log.Warn("inventory update failed, will retry", "rule", r.Name, "kind", gvk.Kind, "error", err)
			return
		}
		e.log.Info("orphaned objects of a kind deleted", "rule", r.Name, "kind", gvk.Kind)
		former[r.Name] = append(former[r.Name][:i:i], former[r.Name][i+1:]...)
		return
	}
}
