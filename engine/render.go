package engine

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// renderTimeout is how long the loops of a rule may hold a worker. Their budget
// ends them in a tenth of that, unless the machine has no time for us.
const renderTimeout = 2 * time.Second

// render renders the rules for the primary. Where a limit of package rules is
// hit the rule is Stalled until the object or the rules change. Only a timeout
// may heal by itself.
func (p *pass) render() {
	p.primary.Render(rules.Input{
		Self: p.self.Content(), Installation: p.engine.installation, Observed: p.observed, Owned: p.owned, Lookup: p.lookup, Timeout: renderTimeout,
		Coverage: p.engine.coverage,
	}, p.rendering)
}

// retryTimedOut returns when rules that ran out of time are rendered again.
func (p *pass) retryTimedOut() time.Duration {
	for i := range p.rendering.Rules {
		if p.rendering.Rules[i].TimedOut {
			return jitter(refusedRetry, p.engine.random)
		}
	}
	return 0
}

// What a pass sees of the children is the cache, with our own writes and
// deletes that it does not show yet on top: a lagging watch must neither repeat
// a write nor make one object too many.

// observed gives the renderer a live child.
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

// owned gives the renderer all live objects that were made from a child.
func (p *pass) owned(r *rules.Rule, child *rules.Child) []rules.Live {
	c := p.primary.cacheOf(child.GVK)
	if c == nil {
		return nil
	}
	var out []rules.Live
	for o := range p.objectsOf(c) {
		if o.Rule() == r.Name && o.Child() == child.ID {
			out = append(out, p.liveOf(o))
		}
	}
	return out
}

// objectsOf returns the objects of one kind that belong to the primary, including
// those that only the response to our own write has shown so far.
func (p *pass) objectsOf(c *watch.Cache) iter.Seq[*watch.Object] {
	return func(yield func(*watch.Object) bool) {
		ahead := p.ahead(c) // Before the cache is read, which then misses none of them.
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

// lookup answers what a rule asks for. Whatever changes the answer brings about
// another reconciliation.
func (p *pass) lookup(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	answer, err := p.primary.lookups[l].Lookup(&p.memory.reads, p.req, q, p.engine.scope())
	if err != nil {
		return nil, err
	}
	objects, unknown := answer.Objects()
	if unknown != nil {
		p.noteUnread(l, unknown)
		return nil, rules.ErrUnwatched // Asked again as soon as it is listed.
	}
	return objects, nil
}

// noteUnread notes why what a lookup reads is unknown.
func (p *pass) noteUnread(l *rules.Lookup, why error) {
	if p.unread == nil {
		p.unread = map[*rules.Lookup]error{}
	}
	p.unread[l] = why
}

// unlistedKind names the first kind that a rule renders or reads and that is not
// listed where it matters to the primary, and why. A rule that is leaving does not
// wait for what it reads, which must not keep the primary from being deleted.
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
	if r.Leaving {
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
	p.memory.reads.Retain()
	p.memory.retain(func(w *written) bool {
		if p.wants(w.identity) {
			return true
		}
		return w.object != nil && p.live(w.identity) == w.object
	})
	p.memory.forgetDeletions(func(uid types.UID, d deletion) bool {
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
