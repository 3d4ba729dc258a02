package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/watch"
)

// route says whom the new watches of a plan tell of what, and what counts for
// its rules.
func (e *Engine) route(pl *plan) *plan {
	e.metrics.meter(pl)
	for _, w := range pl.watches {
		onChange := map[watch.Role]func(*watch.Object){
			watch.Primary: e.enqueuePrimary, watch.Child: e.enqueueOwner,
			watch.Lookup: func(o *watch.Object) { w.EachReader(o, e.queue.Add) },
		}
		w.Notify(onChange[w.Role], func() { e.enqueueAll(w) })
	}
	return pl
}

// enqueuePrimary asks for a look at a primary that was added, changed or
// deleted.
func (e *Engine) enqueuePrimary(o *watch.Object) {
	e.queue.Add(Request{
		Kind:      schema.GroupKind{Group: o.GroupVersionKind().Group, Kind: o.GetKind()},
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
	})
}

// enqueueOwner asks for a look at the primary of a child that was added,
// changed or deleted, and at the one that now bears its name.
func (e *Engine) enqueueOwner(o *watch.Object) {
	owner, ok := o.Owner()
	if !ok {
		return
	}
	pl := e.plan.Load()
	if pl == nil {
		return // Everything is looked at when there is one.
	}
	primary := pl.primaries[owner.Kind]
	if primary == nil {
		return
	}
	cache, err := primary.watch.Cache()
	if err != nil {
		return // Everything is looked at when there is one.
	}
	if !cache.Kind().Namespaced {
		owner.Namespace = ""
	}
	e.queue.Add(owner)
	if current, _ := cache.Get(owner.Namespace, owner.Name); current != nil && current.GetUID() != owner.UID {
		e.enqueuePrimary(current)
	}
}

// enqueueAll asks for a look at every primary that a watch has to do with,
// after its cache has been filled.
func (e *Engine) enqueueAll(ready *watch.Watch) {
	pl := e.plan.Load()
	if pl == nil {
		return
	}
	for _, primary := range pl.primaries {
		if primary.uses(ready) {
			e.enqueueKind(primary)
		}
	}
}

// enqueueKind asks for a look at every primary of a kind, and at what still has
// children of it.
func (e *Engine) enqueueKind(primary *primaryKind) {
	watches := []*watch.Watch{primary.watch}
	for _, rendered := range primary.byRule {
		for _, w := range rendered {
			if !slices.Contains(watches, w) {
				watches = append(watches, w)
			}
		}
	}
	enqueueShown(watches)
}

// enqueueShown asks for a look at every primary that watches show, and at what
// has children there: each watch once, since many kinds may share it.
func enqueueShown(watches []*watch.Watch) {
	for _, w := range watches {
		if w.Role != watch.Lookup { // Who reads it is a primary, and shown as such.
			w.Replay()
		}
	}
}
