package preview

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/plan"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// others foretell what the owners of shared objects do with one plan: a preview reconciles each of them alone. Several
// goroutines may use it.
type others struct {
	*Preview
	plan *plan.Plan

	mu    sync.Mutex
	known map[types.UID]map[plan.ObjectKey]access.Foretold
}

// othersOf returns what the owners of shared objects do with a plan.
func (v *Preview) othersOf(pl *plan.Plan) *others {
	known := map[types.UID]map[plan.ObjectKey]access.Foretold{}
	all, _ := v.others.LoadOrStore(pl, &others{Preview: v, plan: pl, known: known})
	return all.(*others)
}

// Foretell implements access.Others.
func (s *others) Foretell(o *watch.Object, share rules.Share) access.Foretold {
	now := access.Foretold{Hash: share.Hash}
	pk := s.plan.Primaries[share.Owner.Kind]
	if pk == nil {
		return now
	}
	cache, err := pk.Watch.Cache()
	if err != nil || cache.Unlisted() != nil {
		now.Unknown = true
		return now
	}
	owner := share.Owner
	if !cache.Kind().Namespaced {
		owner.Namespace = ""
	}
	self, _ := cache.Get(owner.Namespace, owner.Name)
	switch {
	case self == nil || rules.UIDOf(owner.Kind, self) != owner.UID:
		now.Leaves, now.Unknown = s.toEnd, !s.toEnd // It no longer matches, or is not one of those to compare.
		return now
	case self.Paused():
		return now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := plan.KeyOf(o.Identity(o.GroupVersionKind()))
	next, found := s.known[owner.UID][key]
	if !found {
		s.known[owner.UID] = s.foretellAll(pk, cache, self, owner, o)
		next = s.known[owner.UID][key]
	}
	if next.Hash == "" {
		next.Hash = share.Hash
	}
	return next
}

// foretellAll renders an owner once for all its shared objects. also is one of them, whose kind may not be watched.
func (s *others) foretellAll(pk *plan.PrimaryKind, cache *watch.Cache, self *watch.Object, owner ident.Request,
	also *watch.Object) map[plan.ObjectKey]access.Foretold {
	e := s.stepper.engine
	p := reconcile.PassOf(access.Subject{Shared: e.Shared, Cluster: e.Cluster, Primary: pk, Cache: cache, Cached: true,
		Req: owner, Self: self, Memory: &access.Memory{}, Admitted: s.plan.Admitted.Load()})
	defer p.Discard()
	p.View.Render(e.Clock.Now())
	all := map[plan.ObjectKey]access.Foretold{}
	foretell := func(o *watch.Object) {
		id := o.Identity(o.GroupVersionKind())
		all[plan.KeyOf(id)] = foretellOf(p, o, id)
	}
	for gvk := range pk.Children {
		if c := pk.CacheOf(gvk); c != nil {
			for o := range c.OwnedBy(owner) {
				if o.IsShared() {
					foretell(o)
				}
			}
		}
	}
	foretell(also)
	return all
}

// foretellOf returns what the primary of a pass does with a shared object. It keeps its part if no hash is known.
func foretellOf(p *reconcile.Pass, o *watch.Object, id rules.Identity) (next access.Foretold) {
	rule := &rules.Rule{Name: o.Rule()} // It may be removed.
	for i := range p.Rendering.Rules {
		r := &p.Rendering.Rules[i]
		switch {
		case r.Rule.Name != o.Rule():
			continue
		case r.Err != nil:
			return next
		case r.Teardown:
			next.Leaves = !p.Teardown.RenderedByAnother(r.Rule, id)
			return next
		}
		rule = r.Rule
		for j := range r.Children {
			c := &r.Children[j]
			at := slices.IndexFunc(c.Objects, func(d rules.Desired) bool {
				return c.Child.Shared && plan.KeyOf(d.Identity) == plan.KeyOf(id)
			})
			if at >= 0 && c.Objects[at].State == rules.Rendered && len(c.Objects[at].Waits) == 0 {
				next.Hash = c.Objects[at].HashString()
				return next
			}
		}
	}
	next.Leaves = !p.View.Wants(id) && p.Rendering.MayRender(rule, o.Child(), id) == ""
	return next
}
