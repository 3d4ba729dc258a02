package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
)

// reconcile makes the cluster agree with what the rules say about one object.
// It may be called at any time and any number of times.
func (e *Engine) reconcile(ctx context.Context, req Request) (Result, error) {
	primary := e.plan.primaries[req.Kind]
	if primary == nil {
		return Result{}, nil // No rule is for this kind.
	}
	cache := primary.watch.cached.Load()
	if cache == nil {
		return Result{}, nil // Asked again as soon as there is one.
	}
	self, err := e.find(ctx, primary, cache, req)
	if self == nil || err != nil {
		return Result{}, err
	}
	if self.terminating() {
		return Result{}, nil // Its children go by their owner references.
	}
	p := &pass{
		engine: e, primary: primary, cache: cache, req: req, self: self,
		memory: e.memories.get(req), rendering: renderings.Get().(*rules.Rendering),
	}
	defer renderings.Put(p.rendering)
	return p.run(ctx)
}

var renderings = sync.Pool{New: func() any { return new(rules.Rendering) }}

// find returns the primary, or nil when it is gone. One that is not in the
// cache but has children has been deleted, or has stopped matching the watch's
// selector, or the cache lags behind: only a live read can tell.
func (e *Engine) find(ctx context.Context, primary *primaryKind, cache *cached, req Request) (*object, error) {
	if self := cache.get(req.Namespace, req.Name); self != nil && self.GetUID() == req.UID {
		return self, nil
	}
	if !primary.hasChildren(req.UID) {
		e.memories.forget(req)
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := e.resource(cache.kind, req.Namespace).Get(ctx, req.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		e.memories.forget(req)
		return nil, nil // The garbage collector takes its children.
	case err != nil:
		return nil, fmt.Errorf("%s: read: %w", req, err)
	case live.GetUID() != req.UID:
		e.memories.forget(req)
		return nil, nil
	}
	return newObject(live, primaryRole), nil
}

// resource returns the client for one kind and namespace.
func (e *Engine) resource(k kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return e.client.Resource(k.gvr)
	}
	return e.client.Resource(k.gvr).Namespace(namespace)
}

// A pass is one look at one primary.
type pass struct {
	engine    *Engine
	primary   *primaryKind
	cache     *cached
	req       Request
	self      *object
	memory    *memory
	rendering *rules.Rendering

	confirmed bool // the cached primary was found to be up to date by a live read
	wrote     bool
	reapply   bool // apply every child again, whether it has drifted or not
	retry     time.Duration
	err       error // the first error that is worth a retry with backoff
}

func (p *pass) run(ctx context.Context) (Result, error) {
	now := p.engine.clock.Now()
	p.reapply = !p.memory.reapplyAt.IsZero() && !now.Before(p.memory.reapplyAt)
	p.primary.Render(rules.Input{Self: p.self.Object, Observed: p.observed}, p.rendering)

	total := outcome{}
	for i := range p.rendering.Rules {
		total = worse(total, p.rule(ctx, &p.rendering.Rules[i]))
	}
	p.memory.retain(p.wants)
	if !p.matches() {
		return p.result(), p.err // It is no business of ours any more, and keeps its last status.
	}
	p.report(worse(total, p.outcomeOf(p.status(ctx, total, now))))
	p.scheduleReapply(now)
	return p.result(), p.err
}

// matches reports whether any rule is for the object.
func (p *pass) matches() bool {
	for i := range p.rendering.Rules {
		if p.rendering.Rules[i].Matches || p.rendering.Rules[i].Err != nil {
			return true
		}
	}
	return false
}

// rule does what one rule wants, and holds back nothing else when it fails.
func (p *pass) rule(ctx context.Context, r *rules.RuleResult) outcome {
	if r.Err != nil {
		return failed(r.Err)
	}
	if !r.Matches {
		return p.outcomeOf(p.prune(ctx, r.Rule, leaving))
	}
	if kind, why := p.primary.unwatched(r.Rule); why != "" {
		return outcome{state: waiting, reason: reasonWaiting,
			message: fmt.Sprintf("rule %q waits for kind %s: %s", r.Rule.Name, kind, why)}
	}
	total, settled := outcome{}, true
	for i := range r.Children {
		o, done := p.child(ctx, r.Rule, &r.Children[i])
		total, settled = worse(total, o), settled && done
	}
	if r.StatusErr != nil {
		total = worse(total, failed(r.StatusErr))
	}
	// Only now: a failure must never leave less than there was before.
	if settled {
		total = worse(total, p.outcomeOf(p.prune(ctx, r.Rule, rendering)))
	}
	return total
}

// child brings one child to where its rule wants it. It also reports whether
// the child's place is settled: what it replaces may go.
func (p *pass) child(ctx context.Context, rule *rules.Rule, d *rules.Desired) (outcome, bool) {
	switch d.State {
	case rules.Excluded:
		return outcome{}, true
	case rules.Waiting:
		return outcome{state: waiting, reason: reasonWaiting,
			message: fmt.Sprintf("rule %q, child %q: waits for %s", rule.Name, d.Child.ID, list(d.Waits))}, false
	case rules.Failed:
		return failed(d.Err), false
	}
	did, err := p.ensure(ctx, d)
	if err != nil {
		return p.outcomeOf(fmt.Errorf("rule %q, child %q: %w", rule.Name, d.Child.ID, err)), false
	}
	switch did {
	case held:
		return outcome{state: waiting, reason: reasonWaiting,
			message: fmt.Sprintf("rule %q, child %q: waits for %s", rule.Name, d.Child.ID, list(d.Waits))}, false
	case awaitingEnd:
		p.again(terminatingWait)
		return outcome{state: waiting, reason: reasonWaiting,
			message: fmt.Sprintf("rule %q, child %q: waits for the end of the %s that is being deleted", rule.Name, d.Child.ID, d.Child.GVK.Kind)}, false
	case wrote:
		p.wrote = true
		return outcome{state: progressing, reason: reasonProgressing,
			message: fmt.Sprintf("rule %q, child %q: applied", rule.Name, d.Child.ID)}, true
	}
	return readiness(rule, d), true
}

// observed gives the renderer a live child.
func (p *pass) observed(id rules.Identity) rules.Live {
	o := p.live(id)
	if o == nil || o.trackedBy() != p.req.UID {
		return rules.Live{}
	}
	return rules.Live{Object: o.Object, Applied: o.applied()}
}

// live returns the child of that identity, whoever owns it: from the cache, or
// from the response to our own last write while the cache is behind it.
func (p *pass) live(id rules.Identity) *object {
	c := p.primary.cacheOf(id.GVK)
	if c == nil {
		return nil
	}
	o := c.get(id.Namespace, id.Name)
	w := p.memory.child(id)
	if w.object == nil {
		return o
	}
	if c.seen(w.version) || o != nil && !older(o.GetResourceVersion(), w.version) {
		w.object = nil
		return o
	}
	return w.object
}

// wants reports whether any rule renders the object for this primary, or would
// if it could, in whichever version of its kind: all versions show the same
// objects.
func (p *pass) wants(id rules.Identity) bool {
	for i := range p.rendering.Rules {
		for j := range p.rendering.Rules[i].Children {
			d := &p.rendering.Rules[i].Children[j]
			if d.State != rules.Excluded && d.Identity.Name == id.Name && d.Identity.Namespace == id.Namespace &&
				d.Identity.GVK.GroupKind() == id.GVK.GroupKind() {
				return true
			}
		}
	}
	return false
}

// again asks for another look after at most d; 0 asks for none.
func (p *pass) again(d time.Duration) {
	if d > 0 && (p.retry == 0 || d < p.retry) {
		p.retry = d
	}
}

// fail notes an error that is worth a retry with backoff.
func (p *pass) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *pass) result() Result { return Result{RequeueAfter: p.retry} }

// scheduleReapply plans the slow periodic apply that mends what ownership
// cannot show. The first one comes half an interval to one and a half after the
// start, so that a restart brings neither all of them at once nor any soon.
func (p *pass) scheduleReapply(now time.Time) {
	every := p.engine.options.ReapplyEvery
	if every <= 0 {
		return
	}
	switch {
	case p.memory.reapplyAt.IsZero():
		p.memory.reapplyAt = now.Add(every/2 + spread(every))
	case p.reapply && p.err == nil:
		p.memory.reapplyAt = now.Add(jitter(every))
	}
	// In every pass: the queue keeps only the earliest delay of a request.
	p.again(p.memory.reapplyAt.Sub(now))
}
