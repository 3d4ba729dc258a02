package access

import (
	"context"
	"slices"

	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Remains are what active rules make, and what is left of what others have made.
type Remains struct {
	Programs []*rules.Program // all versions of the rules
	// Left returns what no rule makes any more, with primaries that have finalizers or fields that no rule wants. It may
	// name others, but omits none. It sends a request.
	Left func(context.Context) (inventory.Left, error)
}

// Retain tells Options.Retain what a plan makes and leaves behind.
func (c *Cluster) Retain(ctx context.Context, pl *plan.Plan) {
	if c.Options.Retain == nil || c.DryRun != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	programs := programsOf(pl)
	c.Options.Retain(ctx, Remains{Programs: programs, Left: func(ctx context.Context) (inventory.Left, error) {
		left, err := c.Inventory.Left(ctx, programs)
		if err != nil {
			return left, err
		}
		for gk, pk := range pl.Primaries {
			if !pk.ForCluster() && c.mayBeMarked(pk) {
				left.Kinds[gk] = true
			}
		}
		return left, nil
	}})
}

// Retained reports whether the rules of a plan need not wait for Retain.
func (c *Cluster) Retained(pl *plan.Plan) bool {
	return c.Options.Retained != nil && c.Options.Retained(programsOf(pl))
}

// programsOf returns all versions of the rules of a plan.
func programsOf(pl *plan.Plan) []*rules.Program {
	if pl.Program == pl.Loaded {
		return []*rules.Program{pl.Loaded}
	}
	return []*rules.Program{pl.Loaded, pl.Program}
}

// mayBeMarked reports whether a primary has a finalizer, an annotation or fields of reconcel, as far as it is known.
// Fields of the status count if no rule has any, since the permission to write them is needed otherwise.
func (c *Cluster) mayBeMarked(pk *plan.PrimaryKind) bool {
	cache, err := pk.Watch.Cache()
	if err != nil || cache.Unlisted() != nil || pk.MayHaveDeselected() && c.hasDeselected(pk, cache) {
		return true
	}
	list, known := cache.Conditions()
	status := (!known || list == discover.NoConditions) &&
		!slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return len(r.StatusKeys) > 0 })
	for o := range cache.All() {
		if c.IsMarked(pk, o) || status && o.Fields() != (managedfields.Entry{}) {
			return true
		}
	}
	return false
}

// IsMarked reports whether a primary has a finalizer, an annotation or fields of its rules besides the status.
func (c *Cluster) IsMarked(pk *plan.PrimaryKind, o *watch.Object) bool {
	return pk.HasFinalizer(o) || pk.RemembersIn(o) || pk.Patched(o) || c.Annotator().HasPatched(o)
}

// hasDeselected reports whether a primary that the watch does not show may have something of the rules.
func (c *Cluster) hasDeselected(pk *plan.PrimaryKind, cache *watch.Cache) bool {
	found := pk.Deselected.Load()
	return found == nil || slices.ContainsFunc(*found, func(req ident.Request) bool {
		shown, _ := cache.Get(req.Namespace, req.Name)
		return shown == nil && c.Memories.Has(req)
	})
}
