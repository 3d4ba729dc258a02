package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// follow makes a plan the active one and enqueues the primaries for which it differs
// from the old plan: all of them if there is no old one.
func (e *Engine) follow(old, next *plan) {
	e.plan.Store(next)
	if old == nil {
		enqueueShown(next.watches)
		for _, pk := range next.primaries {
			e.enqueueBundles(pk, pk.Rules)
		}
		return
	}
	changed := changes{all: map[schema.GroupKind]bool{}, rules: map[ruleOf]bool{}}
	for kind, pk := range next.primaries {
		before := old.primaries[kind]
		if before == nil || before.watch != pk.watch || !sameOrder(before.Rules, pk.Rules) {
			changed.all[kind] = true
			pk.watch.Replay()
			e.enqueueBundles(pk, pk.Rules)
			continue
		}
		versions := changedRules(before, pk)
		for _, r := range versions {
			changed.rules[ruleOf{r.Name, kind}] = true
		}
		e.enqueueSelected(pk, versions)
		e.enqueueReached(before, pk)
		e.enqueueBundles(pk, versions)
	}
	for _, w := range next.watches {
		if w.Role == watch.Child {
			e.enqueueChildren(w, changed)
		}
	}
}

// changes are what differs between two plans.
type changes struct {
	all   map[schema.GroupKind]bool // primary kinds of which every primary is affected
	rules map[ruleOf]bool
}

// enqueueSelected enqueues the primaries that a rule may select.
func (e *Engine) enqueueSelected(pk *primaryKind, of []*rules.Rule) {
	cache, err := pk.watch.Cache()
	if len(of) == 0 || err != nil {
		return // Without a cache, all are enqueued when there is one.
	}
	for o := range cache.All() {
		in := rules.Input{Self: o.Content(), Now: e.clock.Now(), Timeout: renderTimeout, Numbers: e.numberFields()}
		if slices.ContainsFunc(of, func(r *rules.Rule) bool { return r.MaySelect(in) }) {
			e.enqueueChanged(pk.GVK.GroupKind(), o)
		}
	}
}

// enqueueChildren enqueues the primaries that have objects of changed rules.
func (e *Engine) enqueueChildren(w *watch.Watch, changed changes) {
	cache, err := w.Cache()
	if err != nil {
		return
	}
	for o := range cache.All() {
		affected := func(owner Request) bool {
			return changed.all[owner.Kind] || changed.rules[ruleOf{o.Rule(), owner.Kind}]
		}
		if slices.ContainsFunc(o.Owners(), affected) {
			e.enqueueOwners(o)
		}
	}
}

// sameOrder reports whether the rules that are in both lists have the same order.
func sameOrder(before, now []*rules.Rule) bool {
	common := func(list, other []*rules.Rule) (names []string) {
		there := map[string]bool{}
		for _, r := range other {
			there[r.Name] = true
		}
		for _, r := range list {
			if there[r.Name] {
				names = append(names, r.Name)
			}
		}
		return names
	}
	return slices.Equal(common(before, now), common(now, before))
}

// changedRules returns the rules for a primary kind that are new, removed or not the
// same: of the latter, both versions.
func changedRules(before, now *primaryKind) (changed []*rules.Rule) {
	earlier := map[string]*rules.Rule{}
	for _, r := range before.Rules {
		earlier[r.Name] = r
	}
	for _, r := range now.Rules {
		old := earlier[r.Name]
		delete(earlier, r.Name)
		switch {
		case old == nil:
			changed = append(changed, r)
		case !sameRule(before, old, now, r):
			changed = append(changed, old, r)
		}
	}
	for _, r := range before.Rules {
		if earlier[r.Name] != nil {
			changed = append(changed, r)
		}
	}
	return changed
}

// sameRule reports whether a rule does the same in two plans: it has the same content,
// the same watches and the same verdict.
func sameRule(before *primaryKind, old *rules.Rule, now *primaryKind, r *rules.Rule) bool {
	if old.Digest != r.Digest || !slices.Equal(before.byRule[old], now.byRule[r]) {
		return false
	}
	for i, l := range r.Lookups {
		if before.lookups[old.Lookups[i]] != now.lookups[l] {
			return false
		}
	}
	of := ruleOf{r.Name, r.GVK.GroupKind()}
	if before.plan.holds[of] != now.plan.holds[of] {
		return false // Its primaries report it.
	}
	was, is := before.plan.verdict.Load(), now.plan.verdict.Load()
	return was.why(old) == is.why(r) && slices.Equal(was.ownersOf(r.Name), is.ownersOf(r.Name))
}
