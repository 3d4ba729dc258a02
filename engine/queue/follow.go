package queue

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Follow makes a plan the active one and enqueues the primaries for which it differs
// from the old plan: all of them if there is no old one.
func (e *Router) Follow(old, next *plan.Plan) {
	e.Plan.Store(next)
	if old == nil {
		enqueueShown(next.Watches)
		for _, pk := range next.Primaries {
			e.EnqueueBundles(pk, pk.Rules)
		}
		return
	}
	changed := plan.Changes{All: map[schema.GroupKind]bool{}, Rules: map[plan.RuleOf]bool{}}
	for kind, pk := range next.Primaries {
		before := old.Primaries[kind]
		if before == nil || before.Watch != pk.Watch || !plan.SameOrder(before.Rules, pk.Rules) {
			changed.All[kind] = true
			pk.Watch.Replay()
			e.EnqueueBundles(pk, pk.Rules)
			continue
		}
		versions := plan.ChangedRules(before, pk)
		for _, r := range versions {
			changed.Rules[plan.RuleOf{Name: r.Name, Kind: kind}] = true
		}
		e.enqueueSelected(pk, versions)
		e.enqueueReached(before, pk)
		e.EnqueueBundles(pk, versions)
	}
	for _, w := range next.Watches {
		if w.Role == watch.Child {
			e.enqueueChildren(w, changed)
		}
	}
}

// enqueueSelected enqueues the primaries that a rule may select.
func (e *Router) enqueueSelected(pk *plan.PrimaryKind, of []*rules.Rule) {
	cache, err := pk.Watch.Cache()
	if len(of) == 0 || err != nil {
		return // Without a cache, all are enqueued when there is one.
	}
	for o := range cache.All() {
		in := e.InputOf(o)
		if slices.ContainsFunc(of, func(r *rules.Rule) bool { return r.MaySelect(in) }) {
			e.enqueueChanged(pk.GVK.GroupKind(), o)
		}
	}
}

// InputOf returns what decides whether a rule selects a primary.
func (e *Router) InputOf(self *watch.Object) rules.Input {
	return rules.Input{Self: self.Content(), Now: e.Clock.Now(), Timeout: access.RenderTimeout,
		Numbers: e.Cluster.NumberFields()}
}

// enqueueChildren enqueues the primaries that have objects of changed rules.
func (e *Router) enqueueChildren(w *watch.Watch, changed plan.Changes) {
	cache, err := w.Cache()
	if err != nil {
		return
	}
	for o := range cache.All() {
		affected := func(owner ident.Request) bool {
			return changed.All[owner.Kind] || changed.Rules[plan.RuleOf{Name: o.Rule(), Kind: owner.Kind}]
		}
		if slices.ContainsFunc(o.Owners(), affected) {
			e.enqueueOwners(o)
		}
	}
}
