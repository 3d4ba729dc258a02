package engine

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// A reconciliation reads children from the cache, combined with our own writes
// and deletes that the cache does not show yet. Otherwise a lagging watch would
// repeat a write or create a duplicate object.

// observed returns a live child to the renderer.
func (p *pass) observed(id rules.Identity) rules.Live {
	o := p.live(id)
	if o == nil {
		return rules.Live{}
	}
	if !o.BelongsTo(p.req) && (o.OwnerUID() != "" || !isAbandoned(p.primary.Rules, o)) {
		return rules.Live{}
	}
	return p.liveOf(o)
}

func (p *pass) liveOf(o *watch.Object) rules.Live {
	return rules.Live{Object: o.Content(), Applied: o.Applied(), Deleted: p.memory.hasDeleted(o.GetUID())}
}

// owned returns all live objects of a child to the renderer. While their kind is not
// listed, there may be more. The primary is enqueued as soon as it is.
func (p *pass) owned(r *rules.Rule, child *rules.Child) (out []rules.Live, err error) {
	c := p.primary.cacheOf(child.GVK)
	if c == nil {
		return nil, rules.ErrUnwatched
	}
	if c.UnlistedFor(r, p.req.Namespace) != nil {
		err = rules.ErrUnwatched
	}
	for o := range p.objectsOf(c) {
		if o.Rule() == r.Name && o.Child() == child.ID {
			out = append(out, p.liveOf(o))
		}
	}
	return out, err
}

// objectsOf returns the primary's objects of one kind, including those that are
// only known from the response to our own write.
func (p *pass) objectsOf(c *watch.Cache) iter.Seq[*watch.Object] {
	return func(yield func(*watch.Object) bool) {
		ahead := p.ahead(c) // Read before the cache, so that the cache then has all others.
		for o := range c.OwnedBy(p.req) {
			if ahead[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] == nil && !yield(o) {
				return
			}
		}
		for _, o := range ahead {
			if o.BelongsTo(p.req) && !yield(o) {
				return
			}
		}
	}
}

// lookup runs a rule's query. A change of the result triggers another
// reconciliation.
func (p *pass) lookup(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	answer, err := p.primary.lookups[l].Lookup(&p.memory.reads, p.req, q, p.engine.scope())
	if err != nil {
		return nil, err
	}
	objects, unknown := answer.Objects()
	if unknown != nil {
		p.noteUnread(l, unknown)
		return nil, rules.ErrUnwatched // Enqueued again as soon as the kind is listed.
	}
	return objects, nil
}

// noteUnread records why the objects of a lookup are unknown.
func (p *pass) noteUnread(l *rules.Lookup, why error) {
	if p.unread == nil {
		p.unread = map[*rules.Lookup]error{}
	}
	p.unread[l] = why
}

// unlistedKind returns the first kind that a rule renders or reads and whose
// cache is not synced in the primary's namespace, and why. A rule in teardown does
// not wait for its lookups, which must not block the deletion of the primary.
func (p *pass) unlistedKind(r *rules.RuleResult) (kind, why string) {
	for _, child := range r.Rule.Children {
		c, err := p.primary.children[child.GVK].Cache()
		if err == nil {
			err = c.UnlistedFor(r.Rule, p.req.Namespace)
		}
		if err != nil {
			return child.GVK.Kind, permission(err).Error()
		}
	}
	if r.Teardown {
		return "", ""
	}
	for _, l := range r.Rule.Lookups {
		err := p.unread[l]
		if err == nil {
			_, err = p.primary.lookups[l].Cache()
		}
		if err != nil {
			return l.GVK.Kind, permission(err).Error()
		}
	}
	return "", ""
}

// live returns the child with an identity, whoever its owner is. It comes from the
// cache, or from the response to our own last write while the cache lags behind.
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
	seen := c.CaughtUp(id.Namespace, w.version) // Read before the object: an object missing after that is deleted.
	o, _ := c.Get(id.Namespace, id.Name)
	if seen || o != nil && !o.OlderThan(w.version) {
		w.object = nil
		return o
	}
	return w.object
}

// ahead returns the responses to our own writes that a cache does not show yet.
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

// unshown reports whether a cache does not show one of our writes yet.
func (p *pass) unshown() bool {
	return slices.ContainsFunc(p.memory.children, func(w *written) bool { return w.object != nil })
}

// forget removes the memory that is no longer needed at the end of a
// reconciliation: children that no rule renders and deletions, both once the cache
// shows them.
func (p *pass) forget() {
	p.memory.reads.Retain()
	p.memory.retain(func(w *written) bool {
		if p.wants(w.identity) {
			return true
		}
		return w.object != nil && p.live(w.identity) == w.object
	})
	maps.DeleteFunc(p.memory.deleted, func(uid types.UID, d deletion) bool {
		c := p.primary.cacheOf(d.identity.GVK)
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
