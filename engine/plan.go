package engine

import (
	"hash/maphash"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/projection"
)

// childSelector selects the label of all children. It keeps all other objects
// of a kind out of our caches.
const childSelector = rules.LabelRule

// A plan has the watches that a program needs. It does not change; another
// program gets another plan.
type plan struct {
	succession
	orphaned  inventory.Orphaned // objects that its rules or removed rules no longer render
	primaries map[schema.GroupKind]*primaryKind
	watches   []*watch.Watch

	passes     atomic.Int64            // reconciliations in progress that use it
	verdict    atomic.Pointer[verdict] // nil: this process does not write
	superseded bool                    // another plan replaces it; guarded by Engine.settling
	unchecked  chan struct{}           // requests a check of objects that the verdict does not cover
	stop       func()                  // stops its background work and waits for the end
}

// A primaryKind is one primary kind with its watches.
type primaryKind struct {
	*rules.Primary
	watch    *watch.Watch
	children map[schema.GroupVersionKind]*watch.Watch // kinds that its rules render or rendered before
	byRule   map[*rules.Rule][]*watch.Watch           // the watches in children, by rule
	meters   []*meter                                 // one for each of Rules, in the same order
	lookups  map[*rules.Lookup]*watch.Watch           // read-only

	digest  uint64       // of its rules
	rollout *rollout     // nil: all primaries have the same versions
	next    *primaryKind // the versions of the primaries that the rollout has reached

	orphanedObjects orphanedObjects // of removed rules

	plan *plan
}

// newPlan returns a plan with the watches of a program. It reuses running
// watches that cache all fields that the program reads, and creates the others. orphaned has the kinds that the rules no
// longer render. The ConfigMaps of bundles are in home.
func newPlan(home string, s succession, orphaned inventory.Orphaned, running []*watch.Watch) *plan {
	pl := &plan{succession: s, orphaned: orphaned, primaries: map[schema.GroupKind]*primaryKind{}, unchecked: make(chan struct{}, 1), stop: func() {}}
	there, byKey := map[watch.Key]*watch.Watch{}, map[watch.Key]*watch.Watch{}
	for _, w := range running {
		there[w.Key] = w
	}
	share := func(key watch.Key, reads *projection.Projection) *watch.Watch {
		w := byKey[key]
		if w == nil {
			if w = there[key]; w == nil || !w.Covers(reads) {
				w = watch.New(key, reads)
			}
			byKey[key] = w
			pl.watches = append(pl.watches, w)
		}
		return w
	}
	next := s.next()
	reads := rules.ReadsOf(s.program, next)
	build := func(p, other *rules.Primary) *primaryKind {
		pk := &primaryKind{
			Primary:  p,
			watch:    share(primaryKey(home, p, other), reads.Primary(p.GVK)),
			children: map[schema.GroupVersionKind]*watch.Watch{},
			byRule:   map[*rules.Rule][]*watch.Watch{},
			lookups:  map[*rules.Lookup]*watch.Watch{},
			digest:   digestOf(p.Rules),
			rollout:  s.rollouts[p.GVK.GroupKind()],
			plan:     pl,
		}
		for i, r := range p.Rules {
			for _, gvk := range slices.Concat(r.ChildKinds(), other.Rules[i].ChildKinds(), orphaned.Kinds[inventory.KeyOf(r)]) {
				pk.addChild(r, share(watch.Key{GVK: gvk, Selector: childSelector, Role: watch.Child}, reads.Child(gvk)))
			}
			for _, l := range r.Lookups {
				pk.lookups[l] = share(watch.Key{GVK: l.GVK, Role: watch.Lookup}, reads.Lookup(l.GVK))
			}
		}
		return pk
	}
	for i, p := range s.program.Primaries() {
		kind, other := p.GVK.GroupKind(), next.Primaries()[i]
		pl.primaries[kind] = build(p, other)
		if s.rollouts[kind] != nil {
			pl.primaries[kind].next = build(other, p)
		}
	}
	return pl
}

// primaryKey identifies the watch of primaries, for two versions of their rules.
func primaryKey(home string, p, other *rules.Primary) watch.Key {
	if p.ForCluster() {
		return watch.Key{GVK: rules.BundleObject, Selector: rules.LabelBundle, Role: watch.Primary, Namespace: home}
	}
	return watch.Key{GVK: p.GVK, Selector: commonSelector(slices.Concat(p.Rules, other.Rules)), Role: watch.Primary}
}

// digestOf returns a digest of a list of rules.
func digestOf(list []*rules.Rule) uint64 {
	var h maphash.Hash
	h.SetSeed(markSeed)
	for _, r := range list {
		_, _ = h.Write(r.Digest[:])
	}
	return h.Sum64()
}

// rules returns the number of rules. One for several kinds counts once.
func (pl *plan) rules() int {
	names := map[string]bool{}
	for _, p := range pl.primaries {
		for _, r := range p.Rules {
			names[r.Name] = true
		}
	}
	return len(names)
}

func (pk *primaryKind) addChild(r *rules.Rule, w *watch.Watch) {
	pk.children[w.GVK] = w
	if !slices.Contains(pk.byRule[r], w) {
		pk.byRule[r] = append(pk.byRule[r], w)
	}
}

// commonSelector returns the selector that all rules for a kind share. If they
// differ, it is "": the whole kind is watched, and each rule selects its objects.
func commonSelector(list []*rules.Rule) string {
	selector := list[0].Selector.String()
	for _, r := range list[1:] {
		if r.Selector.String() != selector {
			return ""
		}
	}
	return selector
}

func (pk *primaryKind) cacheOf(gvk schema.GroupVersionKind) *watch.Cache {
	if w := pk.children[gvk]; w != nil {
		c, _ := w.Cache()
		return c
	}
	return nil
}

// hasChild reports whether the caches have such a child that a rule made for a primary.
func (pk *primaryKind) hasChild(req Request, is func(*watch.Object) bool) bool {
	for gvk := range pk.children {
		if c := pk.cacheOf(gvk); c != nil {
			for o := range c.OwnedBy(req) {
				if pk.made(o) && is(o) {
					return true
				}
			}
		}
	}
	return false
}

func anyChild(*watch.Object) bool { return true }

// isUncontrolled reports whether the garbage collector leaves an object alone when its
// primary is deleted.
func isUncontrolled(o *watch.Object) bool {
	_, controlled := o.Controller()
	return !controlled
}

func (pk *primaryKind) uses(w *watch.Watch) bool {
	if pk.watch == w || pk.children[w.GVK] == w {
		return true
	}
	for _, read := range pk.lookups {
		if read == w {
			return true
		}
	}
	return pk.next != nil && pk.next.uses(w)
}

// enter returns the plan for one reconciliation. The plan keeps its watches
// until leave is called.
func (e *Engine) enter() *plan {
	for {
		pl := e.plan.Load()
		pl.passes.Add(1)
		if e.plan.Load() == pl {
			return pl
		}
		pl.leave() // Another plan replaced it in between and may have stopped its watches.
	}
}

func (pl *plan) leave() { pl.passes.Add(-1) }
