package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// inventoryInterval is how often unused kinds are removed from the inventory.
const inventoryInterval = 5 * time.Second

// restoreInterval is how often reconcel checks that its inventory exists.
const restoreInterval = 30 * time.Second

// restoreInventory creates the inventory again if it was deleted. It restores the texts of the rules even if
// they were changed: another process may have to work with them.
func (e *Engine) restoreInventory(ctx context.Context) {
	restored, err := e.inventory.Restore(ctx)
	restoredTexts, failed := e.inventory.RestoreTexts(ctx)
	if restored {
		e.log.Warn("inventory restored after its deletion", "object", "ConfigMap/"+e.options.Namespace+"/"+inventory.Name(e.options.Name))
	}
	if restoredTexts && failed == nil {
		e.log.Warn("stored rules restored after a change by others", "object", "ConfigMap/"+e.options.Namespace+"/"+inventory.TextNames(e.options.Name)[0])
	}
	if err = errors.Join(err, failed); err != nil && ctx.Err() == nil {
		e.log.Warn("inventory not checked, will retry", "error", err)
	}
}

// startCleanup starts the background tasks of a plan. They stop when ctx ends or
// another plan replaces this one. Watches do not show everything that rules left
// behind: a rule may no longer be loaded, or a primary may have lost the labels of
// the watch's selector while no process was running.
func (e *Engine) startCleanup(ctx context.Context, pl *plan) {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	pl.stop = func() { cancel(); tasks.Wait() }
	do := func(f func()) {
		tasks.Add(1)
		e.background.Go(func() { defer tasks.Done(); f() })
	}
	for _, primary := range pl.primaries {
		if primary.mayHaveDeselected() {
			do(func() { e.findDeselected(ctx, primary) })
		}
	}
	do(func() { e.recheck(ctx, pl) })
	if pl.pending() {
		do(func() { e.watchPending(ctx, pl) })
	}
	e.logKept(pl.orphaned.Kept)
	e.reportHolds(pl)
	if e.dryRun != nil {
		do(func() { e.foreseeCleanup(ctx, pl) })
		return
	}
	do(func() {
		// Wait for one interval first: the caches may not show yet what the last
		// reconciliation with the previous rules created.
		_ = wait.PollUntilContextCancel(ctx, inventoryInterval, false, func(ctx context.Context) (bool, error) {
			e.removeUnusedKinds(ctx, pl)
			return false, nil
		})
	})
	do(func() {
		_ = wait.PollUntilContextCancel(ctx, restoreInterval, false, func(ctx context.Context) (bool, error) {
			e.restoreInventory(ctx)
			return false, nil
		})
	})
	do(func() { e.removeOrphanedMarks(ctx, pl) })
	e.retainAnnounced(pl.orphaned.Removed)
	e.metrics.removing.Set(float64(len(pl.orphaned.Removed)))
	for _, r := range pl.orphaned.Removed {
		do(func() { e.deleteRemovedRule(ctx, pl, r) })
	}
}

// removeUnusedKinds removes kinds that rules no longer render from the inventory,
// each as soon as no objects of it remain.
func (e *Engine) removeUnusedKinds(ctx context.Context, pl *plan) {
	for _, primary := range pl.primaries {
		for _, r := range primary.Rules {
			for _, w := range primary.byRule[r] {
				e.pruneKind(ctx, pl.orphaned.Kinds, r, w)
			}
		}
	}
}

func (e *Engine) pruneKind(ctx context.Context, orphaned map[inventory.Key][]schema.GroupVersionKind, r *rules.Rule, w *watch.Watch) {
	cache, err := w.Cache()
	if err != nil || cache.Unlisted() != nil {
		return
	}
	key := inventory.KeyOf(r)
	for i, gvk := range orphaned[key] {
		if gvk != w.GVK || hasObjectsOf(cache, r) {
			continue
		}
		if err := e.inventory.RemoveKind(ctx, key, gvk); err != nil {
			e.log.Warn("inventory update failed, will retry", "rule", r.Name, "kind", gvk.Kind, "error", err)
			return
		}
		e.log.Info("orphaned objects of a kind deleted", "rule", r.Name, "kind", gvk.Kind)
		orphaned[key] = append(orphaned[key][:i:i], orphaned[key][i+1:]...)
		return
	}
}

func hasObjectsOf(c *watch.Cache, r *rules.Rule) bool {
	for o := range c.All() {
		if o.Rule() == r.Name {
			return true
		}
	}
	return false
}

// logKept logs each kept rule once, and how to remove it.
func (e *Engine) logKept(kept []inventory.KeptRule) {
	for _, k := range kept {
		if slices.Contains(e.reportedKept, k) {
			continue
		}
		e.reportedKept = append(e.reportedKept, k)
		e.log.Warn("inventory has an unknown rule, keeping its objects and finalizers",
			"rule", k.Name, "kind", k.Kind, "source", k.Source,
			"hint", "add the file of the rule; or to remove the rule start with --confirm-removal="+k.Name+"; a second installation needs another --name")
	}
}

// untilDone retries a task until it succeeds or ctx ends.
func (e *Engine) untilDone(ctx context.Context, what string, try func(context.Context) error) {
	_ = retryBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, watch.ErrNotListed), discover.IsNoKind(err):
			e.log.Debug("background task failed, will retry", "task", what, "error", err)
		default:
			e.log.Warn("background task failed, will retry", "task", what, "error", err)
		}
		return err == nil, nil
	})
}
