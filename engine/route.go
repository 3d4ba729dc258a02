package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// route says whom the new watches of a plan tell of what, and what counts for
// its rules.
func (e *Engine) route(pl *plan) *plan {
	e.metrics.meter(pl)
	for _, w := range pl.watches {
		if w.onEvent != nil {
			continue // It is running.
		}
		w.onReady = func() { e.enqueueAll(w) }
		switch w.key.role {
		case primaryRole:
			w.onEvent = e.enqueuePrimary
		case childRole:
			w.onEvent = e.enqueueOwner
		case lookupRole:
			w.onEvent = func(o *object) { w.interests.tell(o, e.queue.Add) }
		}
	}
	return pl
}

// enqueuePrimary asks for a look at a primary that was added, changed or
// deleted.
func (e *Engine) enqueuePrimary(o *object) {
	e.queue.Add(Request{
		Kind:      schema.GroupKind{Group: o.GroupVersionKind().Group, Kind: o.GetKind()},
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
	})
}

// enqueueOwner asks for a look at the primary of a child that was added,
// changed or deleted, and at the one that now bears its name.
func (e *Engine) enqueueOwner(o *object) {
	owner, ok := o.owner()
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
	cache := primary.watch.cached.Load()
	if cache == nil {
		return // Everything is looked at when there is one.
	}
	if !cache.kind.Namespaced {
		owner.Namespace = ""
	}
	e.queue.Add(owner)
	if current := cache.get(owner.Namespace, owner.Name); current != nil && current.GetUID() != owner.UID {
		e.enqueuePrimary(current)
	}
}

// enqueueAll asks for a look at every primary that a watch has to do with,
// after its cache has been filled.
func (e *Engine) enqueueAll(ready *watch) {
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
	watches := []*watch{primary.watch}
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
func enqueueShown(watches []*watch) {
	for _, w := range watches {
		if w.key.role == lookupRole {
			continue // Who reads it is a primary, and shown as such.
		}
		for _, o := range w.list() {
			w.onEvent(o)
		}
	}
}

// list returns the objects in the cache, if there is one.
func (w *watch) list() (all []*object) {
	c := w.cached.Load()
	if c == nil {
		return nil
	}
	for _, item := range c.list() {
		all = append(all, item.(*object))
	}
	return all
}
