package cleanup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/queue"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Cleanup removes what no loaded rule wants any more.
type Cleanup struct {
	*access.Shared
	Cluster    *access.Cluster
	Router     *queue.Router
	Reconciler *reconcile.Reconciler

	// announced has the times at which pending deletions were announced, by removalKey.
	// So a reload neither repeats an announcement nor restarts its wait.
	announced sync.Map

	reportedHolds map[plan.RuleOf]string // reported rules that are held, with the hash of the change
	reportedKept  []inventory.KeptRule   // reported kept rules; written by whoever makes a plan

	unrecorded outcome.Problem // the last update of the inventory; used by RemoveUnusedKinds
}

// InventoryInterval is how often unused kinds are removed from the inventory. A failure doubles the interval, up to
// RestoreInterval.
const InventoryInterval = 5 * time.Second

// RestoreInterval is how often reconcel checks that its inventory exists.
const RestoreInterval = 30 * time.Second

// RestoreInventory creates the inventory again if it was deleted, and adds what it has lost. It restores the texts of
// the rules even if they were changed: another process may have to work with them.
func (c *Cleanup) RestoreInventory(ctx context.Context) error {
	restored, err := c.Inventory.Restore(ctx)
	restoredTexts, failed := c.Inventory.RestoreTexts(ctx)
	if restored {
		c.Log.Warn("inventory restored after a change by others", "object", "ConfigMap/"+c.Options.Namespace+"/"+
			inventory.Name(c.Options.Name))
	}
	if restoredTexts && failed == nil {
		c.Log.Warn("stored rules restored after a change by others", "object", "ConfigMap/"+c.Options.Namespace+"/"+
			inventory.TextNames(c.Options.Name)[0])
	}
	return errors.Join(err, failed)
}

// RemoveUnusedKinds removes kinds that rules no longer render from the inventory,
// each as soon as no objects of it remain. It logs each new problem once.
func (c *Cleanup) RemoveUnusedKinds(ctx context.Context, pl *plan.Plan) error {
	var problems []error
	for _, primary := range pl.Primaries {
		for _, r := range primary.Rules {
			for _, w := range primary.ByRule[r] {
				if err := c.PruneKind(ctx, pl.Orphaned.Kinds, r, w); err != nil {
					problems = append(problems, err)
				}
			}
		}
	}
	err := errors.Join(problems...)
	if ctx.Err() == nil && c.unrecorded.IsNews(err) {
		c.Log.Warn("inventory update failed, will retry", "error", outcome.JoinFirst(problems))
	}
	return err
}

// PruneKind deletes the objects of a kind that a rule no longer renders.
func (c *Cleanup) PruneKind(ctx context.Context, orphaned map[inventory.Key][]schema.GroupVersionKind, r *rules.Rule,
	w *watch.Watch) error {
	cache, err := w.Cache()
	if err != nil || cache.Unlisted() != nil {
		return nil
	}
	key := inventory.KeyOf(r)
	for i, gvk := range orphaned[key] {
		if gvk != w.GVK || hasObjectsOf(cache, r) {
			continue
		}
		if err := c.Inventory.RemoveKind(ctx, key, gvk); err != nil {
			return fmt.Errorf("rule %q, kind %s: %w", r.Name, gvk.Kind, err)
		}
		c.Log.Info("orphaned objects of a kind deleted", "rule", r.Name, "kind", gvk.Kind)
		orphaned[key] = append(orphaned[key][:i:i], orphaned[key][i+1:]...)
		return nil
	}
	return nil
}

func hasObjectsOf(c *watch.Cache, r *rules.Rule) bool {
	for o := range c.All() {
		if o.Rule() == r.Name {
			return true
		}
	}
	return false
}

// LogKept logs each kept rule once, and how to remove it.
func (c *Cleanup) LogKept(kept []inventory.KeptRule) {
	for _, k := range kept {
		if slices.Contains(c.reportedKept, k) {
			continue
		}
		c.reportedKept = append(c.reportedKept, k)
		c.Log.Warn("inventory has an unknown rule, keeping its objects and finalizers",
			"rule", k.Name, "kind", k.Kind, "source", k.Source,
			"hint", "add the file of the rule; or to remove the rule start with --confirm-removal="+k.Name+
				"; a second installation needs another --name")
	}
}

// untilDone retries a task until it succeeds or ctx ends. It logs each new problem once: a paused primary may keep
// what a task is to remove for days.
func (c *Cleanup) untilDone(ctx context.Context, what string, try func(context.Context) error) {
	var problem outcome.Problem
	_ = outcome.RetryBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		switch {
		case ctx.Err() != nil, !problem.IsNews(err):
		case errors.Is(err, watch.ErrNotListed), discover.IsNoKind(err):
			c.Log.Debug("background task failed, will retry", "task", what, "error", err)
		default:
			c.Log.Warn("background task failed, will retry", "task", what, "error", err)
		}
		return err == nil, nil
	})
}

// removeBundle deletes the ConfigMap of a rule that is no longer loaded or no longer for
// the cluster. While objects of the rule are being deleted, it stays: it may pause that.
func (c *Cleanup) removeBundle(ctx context.Context, pl *plan.Plan, f inventory.Finalizer) error {
	deletes := slices.ContainsFunc(pl.Orphaned.Removed,
		func(r inventory.RemovedRule) bool { return r.Name == f.Rule && r.For == f.Kind })
	if !deletes {
		if err := c.Cluster.DeleteBundle(ctx, f.Primary(), f.Rule); err != nil {
			return err
		}
	}
	return c.Inventory.RemoveFinalizer(ctx, f)
}

// FindDeselected enqueues primaries that the watch does not show and that still
// carry a finalizer or fields of a rule.
func (c *Cleanup) FindDeselected(ctx context.Context, primary *plan.PrimaryKind) {
	c.untilDone(ctx, "deselected resources",
		func(ctx context.Context) error { return c.Router.EnqueueDeselected(ctx, primary) })
}

// ReportHolds logs the rules that are held, and records Events. It repeats nothing.
func (c *Cleanup) ReportHolds(pl *plan.Plan) {
	now := map[plan.RuleOf]string{}
	for of, h := range pl.Holds {
		if now[of] = h.Hash; c.reportedHolds[of] == h.Hash {
			continue
		}
		c.Log.Warn("changed rule is held", "rule", of.Name, "kind", of.Kind.String(), "hash", h.Hash, "message", h.Message)
		c.Cluster.ReportRules(outcome.ReasonHeld, "Reload", h.Message)
	}
	for of := range c.reportedHolds {
		if _, still := now[of]; !still {
			c.Log.Info("changed rule is no longer held", "rule", of.Name, "kind", of.Kind.String())
		}
	}
	c.reportedHolds = now
}

// ForeseeCleanup records what the cleanup of removed rules would do, as often as the leader tries it,
// until nothing is left.
func (c *Cleanup) ForeseeCleanup(ctx context.Context, pl *plan.Plan) {
	for _, r := range pl.Orphaned.Removed {
		c.Log.Info("rule would be removed", "rule", r.Name, "kind", r.For)
	}
	_ = removalBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		return c.TryForesee(ctx, pl) == 0, nil
	})
}

// TryForesee returns the number of changes that the cleanup wants now.
func (c *Cleanup) TryForesee(ctx context.Context, pl *plan.Plan) (left int) {
	foresee := func(task ident.Request, do func(context.Context) error) {
		ctx, writes := c.DryRun.Begin(ctx)
		if err := do(ctx); err != nil {
			c.Log.Debug("cleanup not foreseen, will retry", "rule", task.Name, "error", err)
			left++
			return
		}
		changes := writes()
		left += len(changes)
		c.Reconciler.WouldWrite(task, changes)
	}
	for _, f := range pl.Orphaned.Finalizers {
		foresee(ident.Request{Kind: f.Primary(), Name: f.Rule},
			func(ctx context.Context) error { return c.RemoveMarks(ctx, pl, f) })
	}
	for _, r := range pl.Orphaned.Removed {
		foresee(ident.Request{Kind: r.Primary(), Name: "rule " + r.Name}, func(ctx context.Context) error {
			_, problems := c.TryDeleteRemovedRule(ctx, pl, r)
			if len(problems) > 0 {
				return errors.New(outcome.JoinFirst(problems))
			}
			return nil
		})
	}
	return left
}
