package reconcile

import (
	"context"
	"slices"

	"reconcel/engine/ident"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// findBundle returns the ConfigMap of a bundle, and creates it if it is missing. It returns
// nil if no rule has the bundle and nothing of it is left to decide about.
func (e *Reconciler) findBundle(ctx context.Context, primary *plan.PrimaryKind, cache *watch.Cache,
	cached *watch.Object, req ident.Request) (*watch.Object, error) {
	if cached != nil {
		m := e.Memories.Get(req)
		m.Bundle = m.Newest(cached)
	}
	i := slices.IndexFunc(primary.Rules, func(r *rules.Rule) bool { return e.Cluster.BundleOf(r.Name) == req })
	admitted := primary.Plan.Admitted.Load()
	switch {
	case i >= 0 && admitted.Refuses(primary.Rules[i]):
		e.Memories.Forget(req)
		return nil, nil // Another installation has the objects of the rule.
	case i >= 0 && cached != nil && rules.BundleRule(cached.Content()) == primary.Rules[i].Name:
		return cached, nil
	case i >= 0:
		return e.Cluster.CreateBundle(ctx, primary, cache.Kind(), primary.Rules[i].Name, e.Memories.Get(req).Bundle)
	case !primary.OrphanedObjects.Has(req):
		e.Memories.Forget(req)
		return nil, nil
	case cached != nil:
		return cached, nil
	}
	// The objects of a removed rule are left, and its ConfigMap is gone.
	return watch.NewObject(rules.NewBundle(req, ""), watch.Primary), nil
}
