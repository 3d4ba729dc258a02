package cleanup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/engine/write"
	"reconcel/rules"
)

// ErrPaused means that a primary is paused, so that its marks stay.
var ErrPaused = errors.New("is paused")

// RemoveOrphanedMarks removes the finalizers of removed rules and their reports, and
// retries until all are gone. No other controller removes the finalizers, and their objects
// could never be deleted. The rules' children stay.
func (c *Cleanup) RemoveOrphanedMarks(ctx context.Context, pl *plan.Plan) {
	orphaned := pl.Orphaned.Finalizers
	c.untilDone(ctx, "finalizer cleanup", func(ctx context.Context) (problem error) {
		orphaned = slices.DeleteFunc(slices.Clone(orphaned), func(f inventory.Finalizer) bool {
			err := c.RemoveMarks(ctx, pl, f)
			if err != nil && (problem == nil || discover.IsNoKind(problem)) {
				problem = fmt.Errorf("rule %q, kind %s: %w", f.Rule, f.Kind, err)
			}
			return err == nil
		})
		return problem
	})
}

// RemoveMarks removes the finalizers and annotations of a removed rule from primaries.
func (c *Cleanup) RemoveMarks(ctx context.Context, pl *plan.Plan, f inventory.Finalizer) error {
	if f.Primary() == rules.BundleKind.GroupKind() {
		return c.removeBundle(ctx, pl, f)
	}
	paused := ""
	var problem error // the first one
	err := c.Cluster.EachPrimary(ctx, f.Primary(), func(k ident.Kind, o *watch.Object) {
		if o.Paused() {
			if write.MarkOf(o, f.Rule) != "" || c.Cluster.Annotator().HasPatched(o) && !annotates(pl.Primaries[f.Primary()]) {
				paused = ident.SubjectOf(k, o)
			}
			return
		}
		if err := c.removeMarks(ctx, pl.Primaries[f.Primary()], f.Rule, k, o); err != nil && problem == nil {
			problem = err
		}
	})
	if err = errors.Join(err, problem); err != nil {
		return err
	}
	if paused != "" {
		return fmt.Errorf("%s %w", paused, ErrPaused)
	}
	return c.Inventory.RemoveFinalizer(ctx, f)
}

// removeMarks removes the finalizer and annotation of a removed rule from a primary.
func (c *Cleanup) removeMarks(ctx context.Context, primary *plan.PrimaryKind, rule string, k ident.Kind,
	o *watch.Object) error {
	if write.MarkOf(o, rule) != "" {
		// First, because it holds for the state that was read.
		if err := c.Cluster.RemoveFinalizer(ctx, k, o, rule); err != nil {
			return err
		}
		c.Log.Info("removed the finalizer or annotation of a removed rule", "object", ident.SubjectOf(k, o), "rule", rule)
	}
	return c.removeOrphanedAnnotation(ctx, primary, k, o)
}

// removeOrphanedAnnotation removes the report of a removed rule, unless a loaded rule may
// ask for it: then a reconciliation of the primary decides.
func (c *Cleanup) removeOrphanedAnnotation(ctx context.Context, primary *plan.PrimaryKind, k ident.Kind,
	o *watch.Object) error {
	switch {
	case !c.Cluster.Annotator().HasPatched(o):
		return nil
	case annotates(primary):
		c.Queue.Add(ident.RequestFor(primary.GVK.GroupKind(), o))
		return nil
	}
	return c.Cluster.RemoveAnnotation(ctx, k, o)
}

// annotates reports whether a rule of a kind asks for the annotation that reports the status.
func annotates(primary *plan.PrimaryKind) bool {
	return primary != nil && slices.ContainsFunc(primary.Rules, func(r *rules.Rule) bool { return r.Annotates })
}
