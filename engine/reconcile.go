package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/answer"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// reconcile brings the children, the patch and the status of one primary to the
// state that the rules render. It is idempotent and may be called at any time.
func (e *Engine) reconcile(ctx context.Context, req Request) (Result, error) {
	pl := e.enter()
	defer pl.leave()
	p, err := e.begin(ctx, pl, req)
	if p == nil || err != nil {
		return Result{}, err
	}
	defer renderings.Put(p.rendering)
	return p.run(ctx)
}

// begin returns the pass for a primary, or nil when there is nothing to do.
func (e *Engine) begin(ctx context.Context, pl *plan, req Request) (*pass, error) {
	primary := pl.primaries[req.Kind]
	if primary == nil {
		return nil, nil // No rule has this kind.
	}
	if primary.next != nil && primary.rollout.reaches(req.UID) {
		primary = primary.next
	}
	cache, err := primary.watch.Cache()
	if err != nil {
		e.memories.forget(req) // The object may be gone together with its kind.
		return nil, nil        // Enqueued again as soon as there is a cache.
	}
	cached, listed := cache.Get(req.Namespace, req.Name)
	if !listed {
		e.memories.forget(req)
		return nil, nil // Enqueued again as soon as the cache has listed it.
	}
	verdict := pl.verdict.Load()
	if verdict.refusesAll(primary) {
		e.memories.forget(req)
		return nil, nil // Another installation manages it.
	}
	self, err := e.find(ctx, primary, cache, cached, req)
	if self == nil || err != nil {
		return nil, err
	}
	memory := e.memories.get(req)
	self = memory.newest(self)
	if self.Terminating() && !primary.hasFinalizer(self) {
		return nil, nil // The garbage collector deletes its children.
	}
	return &pass{
		engine: e, primary: primary, cache: cache, cached: cached != nil && cached.GetUID() == req.UID, req: req, self: self,
		memory: memory, verdict: verdict, trigger: memory.seen.see(primary.digest, self, e.started), rendering: renderings.Get().(*rules.Rendering),
	}, nil
}

var renderings = sync.Pool{New: func() any { return new(rules.Rendering) }}

// find returns the primary, or nil when it is gone. A primary that is not in the cache
// was deleted or no longer matches the watch's selector, or the cache lags behind. Only
// a live read can tell. It is omitted if nothing follows from it: the garbage collector
// deletes the objects with an owner reference.
func (e *Engine) find(ctx context.Context, primary *primaryKind, cache *watch.Cache, cached *watch.Object, req Request) (*watch.Object, error) {
	if primary.ForCluster() {
		return e.findBundle(ctx, primary, cache, cached, req)
	}
	if cached != nil && cached.GetUID() == req.UID {
		return cached, nil
	}
	if primary.watch.Selector == "" && !primary.orphanedObjects.has(req) && !primary.hasChild(req, isUncontrolled) {
		e.memories.forget(req)
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := e.resource(cache.Kind(), req.Namespace).Get(ctx, req.Name, metav1.GetOptions{})
	switch {
	case answer.IsAbsent(err), err == nil && live.GetUID() != req.UID:
		e.memories.forget(req)
		return nil, errors.Join(e.pruneAfter(ctx, primary, req), e.pruneOrphanedAfter(ctx, primary, req))
	case err != nil:
		return nil, fmt.Errorf("%s: read: %w", req, err)
	}
	return watch.NewObject(live, watch.Primary), nil
}

// A pass is one reconciliation of one primary.
type pass struct {
	engine    *Engine
	primary   *primaryKind
	cache     *watch.Cache
	cached    bool // the cache showed the primary when the reconciliation began
	req       Request
	self      *watch.Object
	memory    *memory
	rendering *rules.Rendering
	verdict   *verdict
	findings  *findings // nil except in a Preview
	trigger   string    // what changed since the last reconciliation
	reapply   bool      // apply every child, even without drift

	wanted    map[objectKey]bool      // the rendered objects, if there are many; see wants
	unread    map[*rules.Lookup]error // why the objects of a lookup are unknown
	stale     bool                    // the cache is behind
	confirmed bool                    // a live read has shown that the cached primary is up to date
	gone      bool                    // the primary no longer exists
}

func (p *pass) run(ctx context.Context) (Result, error) {
	now := p.engine.clock.Now()
	p.reapply = !p.memory.reapplyAt.IsZero() && !now.Before(p.memory.reapplyAt)
	p.noteOpenGate(now)
	p.render(now)
	if p.self.Paused() {
		return p.skipPaused(ctx, now)
	}
	if p.memory.pause != running {
		p.resume()
	}
	defer func() {
		if !p.stale {
			p.memory.staleSince = time.Time{}
		}
	}()
	total := p.rules(ctx).after(p.retryTimedOut())
	total = worse(total, p.pruneOrphaned(ctx))
	p.forget()
	if p.unshown() {
		total = total.after(unshownRetry)
	}
	p.reportPauseIgnored()
	gate := p.awaitGate()
	if !p.matches() || p.gone || p.self.Terminating() && !p.primary.hasFinalizer(p.self) {
		total = p.withdrawAnnotation(ctx, total)
		p.dismiss(total)
		if p.primary.rollout != nil {
			p.noteRollout(total.state)
		}
		return total.after(gate).result() // No rule manages it any more. Its last status stays.
	}
	total = p.status(ctx, total, now)
	if p.primary.rollout != nil {
		p.noteRollout(total.state)
	}
	total = total.after(p.report(total))
	total = total.after(p.scheduleReapply(total, now)).after(gate)
	if p.engine.log.Enabled(ctx, slog.LevelDebug) { // Computing the arguments is expensive.
		p.engine.log.Debug("reconciled", "object", p.req.String(), "state", total.state, "trigger", p.trigger, "message", total.message())
	}
	return total.result()
}

func (p *pass) rules(ctx context.Context) outcome {
	total, started := outcome{}, time.Now()
	for i := range p.rendering.Rules {
		if r := p.rendering.Rules[i].Rule; p.verdict.refuses(r) || p.suspended(r) {
			p.memory.share(i).set(share{})
			continue
		}
		o := p.rule(ctx, &p.rendering.Rules[i])
		ended := time.Now()
		p.count(i, o, ended.Sub(started))
		total, started = worse(total, o), ended
	}
	p.memory.withdraw(len(p.rendering.Rules))
	return total
}

// suspended reports whether nothing of a rule is written, because it is held.
func (p *pass) suspended(r *rules.Rule) bool {
	return len(p.primary.plan.holds) > 0 && p.primary.plan.suspends(r)
}

// rule reconciles one rule. Its failure does not stop the other rules.
func (p *pass) rule(ctx context.Context, r *rules.RuleResult) outcome {
	if r.Err != nil {
		return position{rule: r.Rule.Name}.failed(r.Err)
	}
	if o, wait := p.unjudged(r); wait {
		return o
	}
	if !r.Matches && !r.Teardown {
		return p.leave(ctx, r)
	}
	if r.Teardown {
		return p.end(ctx, r)
	}
	if kind, why := p.unlistedKind(r); why != "" {
		return position{rule: r.Rule.Name}.says(waiting, reasonWaiting, "waits for kind %s: %s", kind, why)
	}
	delete(p.memory.deselectedAt, r.Rule.Name)
	if r.NeedsFinalizer() || p.self.HasFinalizer(r.Rule) {
		if err := p.ensureFinalizer(ctx, r); err != nil {
			return p.outcomeOf(position{rule: r.Rule.Name}.wrap(err))
		}
	}
	total := outcome{}
	var failed []*rules.Child
	for i := range r.Children {
		o := p.child(ctx, r.Rule, &r.Children[i])
		if o.failed {
			failed = append(failed, r.Children[i].Child)
		}
		total = worse(total, o)
	}
	total = worse(total, p.patch(ctx, r))
	if r.StatusErr != nil {
		total = worse(total, position{rule: r.Rule.Name, subject: "status"}.failed(r.StatusErr))
	}
	if r.Rule.Remembers() {
		total = worse(total, p.remember(ctx, r))
	}
	// prune comes last: a replacement must exist before the old object is
	// deleted.
	return worse(total, p.prune(ctx, r, failed)).after(r.Rule.RequeueAfter)
}

// matches reports whether any rule manages the primary. A rule whose match is
// unknown because of an error counts.
func (p *pass) matches() bool {
	for i := range p.rendering.Rules {
		if p.manages(&p.rendering.Rules[i]) {
			return true
		}
	}
	return false
}

// manages reports whether a rule manages the primary.
func (p *pass) manages(r *rules.RuleResult) bool {
	return r.Matches || r.Err != nil || r.Teardown && p.self.Terminating()
}

// dismiss forgets a primary that needs no more work and is not in the watch's
// cache, because the watch will not report its deletion.
func (p *pass) dismiss(total outcome) {
	shown, _ := p.cache.Get(p.req.Namespace, p.req.Name)
	if total.err == nil && total.retry == 0 && (shown == nil || shown.GetUID() != p.req.UID) && !p.primary.hasChild(p.req, anyChild) {
		p.engine.memories.forget(p.req)
	}
}

// scheduleReapply schedules the slow periodic apply, which repairs drift that
// field ownership cannot show. The first apply comes 0.5 to 1.5 intervals after
// the start, so that a restart does not apply everything at once.
func (p *pass) scheduleReapply(total outcome, now time.Time) (wait time.Duration) {
	every := p.engine.options.ReapplyEvery
	if every <= 0 {
		return 0
	}
	switch {
	case p.memory.reapplyAt.IsZero():
		p.memory.reapplyAt = now.Add(every/2 + time.Duration(float64(every)*p.engine.random()))
	case p.reapply && total.err == nil:
		p.memory.reapplyAt = now.Add(jitter(every, p.engine.random))
	}
	// Every reconciliation returns the delay, because the queue keeps only the
	// earliest delay of a request.
	return p.memory.reapplyAt.Sub(now)
}

// renderTimeout limits how long the loops of a rule may block a worker. The cost
// budget normally stops them in a tenth of that time, unless the machine is
// overloaded.
const renderTimeout = 2 * time.Second

// render renders the rules for the primary. A rule that exceeds a limit of
// package rules is stalled until the object or the rules change. Only a timeout
// is retried.
func (p *pass) render(now time.Time) {
	p.primary.Render(rules.Input{
		Self: p.self.Content(), Now: now, Installation: p.engine.installation, Observed: p.observed, Owned: p.owned, Lookup: p.lookup, Timeout: renderTimeout,
		Coverage: p.engine.coverage, Numbers: p.engine.numberFields(),
	}, p.rendering)
}

// numberFields are the number fields of kinds, as far as their schemas are known.
func (e *Engine) numberFields() kindschema.NumberFields {
	if known := e.numbers.Load(); known != nil {
		return *known
	}
	return nil
}

// noteOpenGate names a gate as the trigger of a reconciliation that has no other one.
func (p *pass) noteOpenGate(now time.Time) {
	if at := p.memory.gateAt; p.trigger == whyDependency && !at.IsZero() && !now.Before(at) {
		p.trigger = whyGate
	}
}

// awaitGate returns the delay until the next gate of the rules opens, or 0. It is at least a nanosecond: a
// gate may open during a reconciliation.
func (p *pass) awaitGate() time.Duration {
	var first time.Time
	for i := range p.rendering.Rules {
		if next := p.rendering.Rules[i].Next; !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	p.memory.gateAt = first
	if first.IsZero() {
		return 0
	}
	return max(first.Sub(p.engine.clock.Now()), time.Nanosecond)
}

// retryTimedOut returns the delay until rules that timed out are rendered again.
func (p *pass) retryTimedOut() time.Duration {
	for i := range p.rendering.Rules {
		if p.rendering.Rules[i].TimedOut {
			return jitter(refusedRetry, p.engine.random)
		}
	}
	return 0
}
