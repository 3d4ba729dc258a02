package engine

import (
	"context"
	"slices"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// lookForLeavers looks once for primaries that no cache shows and that carry
// something of a rule.
func (e *Engine) lookForLeavers(ctx context.Context, primary *primaryKind) {
	e.untilDone(ctx, "deselected resources", func(ctx context.Context) error { return e.enqueueLeavers(ctx, primary) })
}

// mayHaveLeavers reports whether the rules write into objects of the kind, and
// the watch does not show all of them.
func (pk *primaryKind) mayHaveLeavers() bool {
	return pk.watch.key.selector != "" && slices.ContainsFunc(pk.Rules, (*rules.Rule).WritesPrimary)
}

func (e *Engine) enqueueLeavers(ctx context.Context, primary *primaryKind) error {
	c := primary.watch.cached.Load()
	switch {
	case c == nil && discover.IsNoKind(primary.watch.trouble()):
		return nil // It has no objects.
	case c == nil:
		return primary.watch.trouble()
	}
	return e.eachOf(ctx, c.kind, func(o *object) error {
		patched := func(r *rules.Rule) bool {
			return o.patches[managedfields.PatchManager(r.Name)] != (managedfields.Entry{})
		}
		if c.get(o.GetNamespace(), o.GetName()) == nil && (primary.held(o) || slices.ContainsFunc(primary.Rules, patched)) {
			e.enqueuePrimary(o)
		}
		return nil
	})
}
