package engine

import (
	"context"
	"slices"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// findDeselected enqueues primaries that the watch does not show and that still
// carry a finalizer or fields of a rule.
func (e *Engine) findDeselected(ctx context.Context, primary *primaryKind) {
	e.untilDone(ctx, "deselected resources", func(ctx context.Context) error { return e.enqueueDeselected(ctx, primary) })
}

// mayHaveDeselected reports whether the rules write into objects of the kind, and
// the watch does not show all of these objects.
func (pk *primaryKind) mayHaveDeselected() bool {
	return !pk.ForCluster() && pk.watch.Selector != "" && slices.ContainsFunc(pk.Rules, (*rules.Rule).WritesPrimary)
}

func (e *Engine) enqueueDeselected(ctx context.Context, primary *primaryKind) error {
	c, err := primary.watch.Cache()
	if err != nil {
		return err // Also if the kind is not served: it may be later.
	}
	return e.eachOf(ctx, c.Kind(), func(o *watch.Object) error {
		if cached, _ := c.Get(o.GetNamespace(), o.GetName()); cached == nil && (primary.hasFinalizer(o) || primary.remembersIn(o) || primary.patched(o) || e.annotator().hasPatched(o)) {
			e.queue.Add(requestFor(primary.GVK.GroupKind(), o))
		}
		return nil
	})
}

// patched reports whether a rule owns fields of a primary besides its status.
func (pk *primaryKind) patched(o *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return patcherOf(r).hasPatched(o) })
}
