package engine

import (
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// childSelector is what every child bears: it keeps all other objects of a
// kind out of our caches.
const childSelector = rules.LabelRule

// A plan is what a program needs watched, and where. It does not change; with
// another program comes another plan.
type plan struct {
	program   *rules.Program
	orphaned  inventory.Orphaned // what its rules have made once, and make no more
	primaries map[schema.GroupKind]*primaryKind
	watches   []*watch.Watch

	passes     atomic.Int64 // that follow it and are under way
	verdict    atomic.Pointer[verdict]
	superseded bool          // another plan comes in its place; under Engine.settling
	unchecked  chan struct{} // asks for a check of objects that no verdict knows
	stop       func()        // ends what is done for it beside the passes, and waits for that
}

// A primaryKind is one primary kind with its watches.
type primaryKind struct {
	*rules.Primary
	watch    *watch.Watch
	children map[schema.GroupVersionKind]*watch.Watch // each kind that its rules render, or have rendered
	byRule   map[*rules.Rule][]*watch.Watch           // likewise
	meters   []*meter                                 // one for each of Rules, in that order
	lookups  map[*rules.Lookup]*watch.Watch           // what its rules read, and never write

	orphanedObjects orphanedObjects // of removed rules

	verdict  atomic.Pointer[verdict] // that of the plan; nil: this process does not write
	askCheck func()                  // see plan.askCheck
}

// newPlan lays out the watches of a program: those that there are already, as
// far as it needs them, and new ones. former is what its rules have done once
// and do not do any more.
func newPlan(program *rules.Program, orphaned inventory.Orphaned, running []*watch.Watch) *plan {
	pl := &plan{program: program, orphaned: orphaned, primaries: map[schema.GroupKind]*primaryKind{}, unchecked: make(chan struct{}, 1), stop: func() {}}
	there, byKey := map[watch.Key]*watch.Watch{}, map[watch.Key]*watch.Watch{}
	for _, w := range running {
		there[w.Key] = w
	}
	share := func(key watch.Key) *watch.Watch {
		w := byKey[key]
		if w == nil {
			if w = there[key]; w == nil {
				w = watch.New(key)
			}
			byKey[key] = w
			pl.watches = append(pl.watches, w)
		}
		return w
	}
	for _, p := range program.Primaries() {
		pk := &primaryKind{
			Primary:  p,
			watch:    share(watch.Key{GVK: p.GVK, Selector: commonSelector(p), Role: watch.Primary}),
			children: map[schema.GroupVersionKind]*watch.Watch{},
			byRule:   map[*rules.Rule][]*watch.Watch{},
			lookups:  map[*rules.Lookup]*watch.Watch{},
			askCheck: pl.askCheck,
		}
		for _, r := range p.Rules {
			for _, c := range r.Children {
				pk.addChild(r, share(watch.Key{GVK: c.GVK, Selector: childSelector, Role: watch.Child}))
			}
			for _, gvk := range orphaned.Kinds[r.Name] {
				pk.addChild(r, share(watch.Key{GVK: gvk, Selector: childSelector, Role: watch.Child}))
			}
			for _, l := range r.Lookups {
				pk.lookups[l] = share(watch.Key{GVK: l.GVK, Role: watch.Lookup})
			}
		}
		pl.primaries[p.GVK.GroupKind()] = pk
	}
	return pl
}

// rules counts the rules.
func (pl *plan) rules() (n int) {
	for _, p := range pl.primaries {
		n += len(p.Rules)
	}
	return n
}

func (pk *primaryKind) addChild(r *rules.Rule, w *watch.Watch) {
	pk.children[w.GVK] = w
	if !slices.Contains(pk.byRule[r], w) {
		pk.byRule[r] = append(pk.byRule[r], w)
	}
}

// commonSelector returns the selector that all rules for a kind share. Where
// they differ the whole kind is watched, and each rule selects for itself.
func commonSelector(p *rules.Primary) string {
	selector := p.Rules[0].Selector.String()
	for _, r := range p.Rules[1:] {
		if r.Selector.String() != selector {
			return ""
		}
	}
	return selector
}

// cacheOf returns the cache of a child kind, or nil.
func (pk *primaryKind) cacheOf(gvk schema.GroupVersionKind) *watch.Cache {
	if w := pk.children[gvk]; w != nil {
		c, _ := w.Cache()
		return c
	}
	return nil
}

// hasChildren reports whether the caches hold anything of a primary.
func (pk *primaryKind) hasChildren(req Request) bool {
	for gvk := range pk.children {
		if c := pk.cacheOf(gvk); c != nil {
			for range c.OwnedBy(req) {
				return true
			}
		}
	}
	return false
}

// uses reports whether the rules for the kind use a watch.
func (pk *primaryKind) uses(w *watch.Watch) bool {
	if pk.watch == w || pk.children[w.GVK] == w {
		return true
	}
	for _, read := range pk.lookups {
		if read == w {
			return true
		}
	}
	return false
}

// enter returns the plan that a pass is to follow to its end, and that stays
// whole until leave is called.
func (e *Engine) enter() *plan {
	for {
		pl := e.plan.Load()
		pl.passes.Add(1)
		if e.plan.Load() == pl {
			return pl
		}
		pl.leave() // Another took its place in between, and may have let go of it.
	}
}

func (pl *plan) leave() { pl.passes.Add(-1) }
