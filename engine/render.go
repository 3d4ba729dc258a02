package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

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
		Self: p.self.Object, Installation: p.engine.installation, Observed: p.observed, Owned: p.owned, Lookup: p.lookup, Timeout: renderTimeout,
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
