package engine

import (
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// live returns the child of that identity, whoever owns it: from the cache, or
// from the response to our own last write while the cache is behind it.
func (p *pass) live(id rules.Identity) *watch.Object {
	c := p.primary.cacheOf(id.GVK)
	if c == nil {
		return nil
	}
	w := p.memory.find(id)
	if w == nil || w.object == nil {
		o, _ := c.Get(id.Namespace, id.Name)
		return o
	}
	seen := c.CaughtUp(id.Namespace, w.version) // Before the object: what it then lacks is gone.
	o, _ := c.Get(id.Namespace, id.Name)
	if seen || o != nil && !o.OlderThan(w.version) {
		w.object = nil
		return o
	}
	return w.object
}

// ahead returns the responses to our own writes that a cache has not caught up
// with.
func (p *pass) ahead(c *watch.Cache) map[types.NamespacedName]*watch.Object {
	var out map[types.NamespacedName]*watch.Object
	for _, w := range p.memory.children {
		if w.object == nil || w.identity.GVK != c.Kind().GVK {
			continue
		}
		if o := p.live(w.identity); o != nil && w.object != nil {
			if out == nil {
				out = map[types.NamespacedName]*watch.Object{}
			}
			out[types.NamespacedName{Namespace: w.identity.Namespace, Name: w.identity.Name}] = o
		}
	}
	return out
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
		if !c.CaughtUp(d.identity.Namespace, d.version) {
			return false
		}
		o, _ := c.Get(d.identity.Namespace, d.identity.Name)
		return o == nil || o.GetUID() != uid
	})
}
