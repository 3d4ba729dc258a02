package engine

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// What a pass sees of the children is the cache, with our own writes and
// deletes that it does not show yet on top: a lagging watch must neither repeat
// a write nor make one object too many.

// observed gives the renderer a live child.
func (p *pass) observed(id rules.Identity) rules.Live {
	o := p.live(id)
	if o == nil {
		return rules.Live{}
	}
	if !o.belongsTo(p.req) && (o.trackedBy() != "" || !abandoned(p.primary.Rules, o)) {
		return rules.Live{}
	}
	return p.liveOf(o)
}

func (p *pass) liveOf(o *object) rules.Live {
	return rules.Live{Object: o.Object, Applied: o.applied(), Deleted: p.memory.hasDeleted(o.GetUID())}
}

// owned gives the renderer all live objects that were made from a child.
func (p *pass) owned(r *rules.Rule, child *rules.Child) []rules.Live {
	c := p.primary.cacheOf(child.GVK)
	if c == nil {
		return nil
	}
	var out []rules.Live
	for _, item := range p.objectsOf(c) {
		o := item.(*object)
		if o.rule() == r.Name && o.child() == child.ID {
			out = append(out, p.liveOf(o))
		}
	}
	return out
}

// objectsOf returns the objects of one kind that belong to the primary, each an
// *object, those that only the response to our own write has shown so far among
// them.
func (p *pass) objectsOf(c *cached) []any {
	ahead := p.ahead(c) // Before the cache is read: what it shows by now is not missed then.
	items := c.ownedBy(p.req)
	if len(ahead) == 0 {
		return items
	}
	var out []any
	for _, item := range items {
		o := item.(*object)
		if ahead[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] == nil {
			out = append(out, o)
		}
	}
	for _, o := range ahead {
		if o.belongsTo(p.req) {
			out = append(out, o)
		}
	}
	return out
}

// ahead returns the responses to our own writes that a cache has not caught up
// with.
func (p *pass) ahead(c *cached) map[types.NamespacedName]*object {
	var out map[types.NamespacedName]*object
	for _, w := range p.memory.children {
		if w.object == nil || w.identity.GVK != c.kind.GVK {
			continue
		}
		if o := p.live(w.identity); o != nil && w.object != nil {
			if out == nil {
				out = map[types.NamespacedName]*object{}
			}
			out[types.NamespacedName{Namespace: w.identity.Namespace, Name: w.identity.Name}] = o
		}
	}
	return out
}

// live returns the child of that identity, whoever owns it: from the cache, or
// from the response to our own last write while the cache is behind it.
func (p *pass) live(id rules.Identity) *object {
	c := p.primary.cacheOf(id.GVK)
	if c == nil {
		return nil
	}
	w := p.memory.find(id)
	if w == nil || w.object == nil {
		return c.get(id.Namespace, id.Name)
	}
	seen := c.seen(id.Namespace, w.version) // Before the object: what it then lacks is gone.
	o := c.get(id.Namespace, id.Name)
	if seen || o != nil && !older(o.GetResourceVersion(), w.version) {
		w.object = nil
		return o
	}
	return w.object
}

// forget lets go of what is not needed any more at the end of a pass: children
// that nobody wants and that the cache shows as they are, and deletions that it
// shows as well.
func (p *pass) forget() {
	p.memory.retain(func(w *written) bool {
		if p.wants(w.identity) {
			return true
		}
		return w.object != nil && p.live(w.identity) == w.object
	})
	p.memory.forgetDeletions(func(uid types.UID, d deletion) bool {
		c := p.primary.anyCacheOf(d.identity.GVK)
		if c == nil {
			return true
		}
		if !c.seen(d.identity.Namespace, d.version) {
			return false
		}
		o := c.get(d.identity.Namespace, d.identity.Name)
		return o == nil || o.GetUID() != uid
	})
}

// anyCacheOf returns the cache of a kind that a rule renders or has rendered
// once, or nil.
func (pk *primaryKind) anyCacheOf(gvk schema.GroupVersionKind) *cached {
	for _, watches := range pk.byRule {
		for _, w := range watches {
			if w.key.gvk == gvk {
				return w.cached.Load()
			}
		}
	}
	return nil
}
