package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/rules"
)

// reconcile makes the cluster agree with what the rules say about one object.
// It may be called at any time and any number of times.
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

// begin returns the pass over an object, or nil when there is nothing to do.
func (e *Engine) begin(ctx context.Context, pl *plan, req Request) (*pass, error) {
	primary := pl.primaries[req.Kind]
	if primary == nil {
		return nil, nil // No rule is for this kind.
	}
	cache := primary.watch.cached.Load()
	if cache == nil || !cache.shows(req.Namespace) {
		e.memories.forget(req) // It may have gone with its kind.
		return nil, nil        // Asked again as soon as there is a cache.
	}
	verdict := primary.verdict.Load()
	if verdict.refusesAll(primary) {
		e.memories.forget(req)
		return nil, nil // Another installation has it.
	}
	self, err := e.find(ctx, primary, cache, req)
	if self == nil || err != nil {
		return nil, err
	}
	memory := e.memories.get(req)
	self = memory.newest(self)
	if self.terminating() && !primary.held(self) {
		return nil, nil // Its children go by their owner references.
	}
	return &pass{
		engine: e, primary: primary, cache: cache, req: req, self: self,
		memory: memory, verdict: verdict, why: memory.seen.see(pl.program, self, e.started), rendering: renderings.Get().(*rules.Rendering),
	}, nil
}

var renderings = sync.Pool{New: func() any { return new(rules.Rendering) }}

// find returns the primary, or nil when it is gone. One that is not in the
// cache but has children has been deleted, or has stopped matching the watch's
// selector, or the cache lags behind: only a live read can tell.
func (e *Engine) find(ctx context.Context, primary *primaryKind, cache *cached, req Request) (*object, error) {
	if self := cache.get(req.Namespace, req.Name); self != nil && self.GetUID() == req.UID {
		return self, nil
	}
	if !primary.hasChildren(req) && !primary.leftovers.has(req) && primary.watch.key.selector == "" {
		e.memories.forget(req)
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := e.resource(cache.kind, req.Namespace).Get(ctx, req.Name, metav1.GetOptions{})
	switch {
	case isAbsent(err), err == nil && live.GetUID() != req.UID:
		e.memories.forget(req)
		return nil, errors.Join(e.clearAfter(ctx, primary, req), e.clearLeftoversAfter(ctx, primary, req))
	case apierrors.IsNotFound(err):
		return nil, nil // The kind is gone, or not served for a while: nothing can be told.
	case err != nil:
		return nil, fmt.Errorf("%s: read: %w", req, err)
	}
	return newObject(live, primaryRole), nil
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
	verdict   *verdict
	wanted    map[objectKey]bool      // what is rendered, where it is much; see wants
	unread    map[*rules.Lookup]error // why what they read is not known
	unsaid    map[*rules.Rule]bool    // whose status the API server refuses; nil: it has not been asked, or takes all

	why     string         // what has changed since the last pass
	failing []*rules.Child // of which an object could not be written
	kept    []stay         // what no rule renders, and that is not deleted

	confirmed bool // the cached primary was found to be up to date by a live read
	wrote     bool
	patched   bool      // the primary was written to since this pass has seen it
	gone      bool      // the primary was found not to exist any more
	findings  *findings // of a Preview; nil: nobody asks
	reapply   bool      // apply every child again, whether it has drifted or not
	retry     time.Duration
	err       error // the first error that is worth a retry with backoff
}

func (p *pass) run(ctx context.Context) (Result, error) {
	now := p.engine.clock.Now()
	p.reapply = !p.memory.reapplyAt.IsZero() && !now.Before(p.memory.reapplyAt)
	p.render()
	p.memory.reads.retain()
	if p.self.paused() {
		return p.leaveAlone(ctx, now)
	}
	p.resume()
	p.tellPauseIgnored()

	total := p.rules(ctx)
	p.clearLeftovers(ctx)
	p.forget()
	if !p.matches() || p.gone || p.self.terminating() && !p.primary.held(p.self) {
		p.dismiss()
		return p.result(), p.err // It is no business of ours any more, and keeps its last status.
	}
	total = p.status(ctx, total, now)
	p.report(total)
	p.scheduleReapply(now)
	if p.engine.log.Enabled(ctx, slog.LevelDebug) { // The arguments cost more than the rest.
		p.engine.log.Debug("reconciled", "object", p.req.String(), "state", total.state, "trigger", p.why, "message", total.message())
	}
	return p.result(), p.err
}

// rules does what each rule wants, and counts it.
func (p *pass) rules(ctx context.Context) outcome {
	total, started := outcome{}, time.Now()
	for i := range p.rendering.Rules {
		if p.verdict.refuses(p.rendering.Rules[i].Rule) {
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

// rule does what one rule wants, and holds back nothing else when it fails.
func (p *pass) rule(ctx context.Context, r *rules.RuleResult) outcome {
	if r.Err != nil {
		return position{rule: r.Rule.Name}.failed(r.Err)
	}
	if o, wait := p.unjudged(r); wait {
		return o
	}
	if !r.Matches && !r.Leaving {
		return p.leave(ctx, r)
	}
	if r.Leaving {
		return p.end(ctx, r)
	}
	if kind, why := p.unwatched(r); why != "" {
		return position{rule: r.Rule.Name}.says(waiting, reasonWaiting, "waits for kind %s: %s", kind, why)
	}
	if err := p.hold(ctx, r); err != nil {
		return p.outcomeOf(position{rule: r.Rule.Name}.wrap(err))
	}
	total := outcome{}
	for i := range r.Children {
		total = worse(total, p.child(ctx, r.Rule, &r.Children[i]))
	}
	total = worse(total, p.patch(ctx, r))
	if r.StatusErr != nil {
		total = worse(total, position{rule: r.Rule.Name, subject: "status"}.failed(r.StatusErr))
	}
	// Only now: what takes the place of an object comes before that goes.
	total = worse(total, p.outcomeOf(p.prune(ctx, r, rendering)))
	p.again(r.Rule.RequeueAfter)
	return total
}

// matches reports whether any rule is for the object.
func (p *pass) matches() bool {
	for i := range p.rendering.Rules {
		if r := &p.rendering.Rules[i]; r.Matches || r.Err != nil || r.Leaving && p.self.terminating() {
			return true
		}
	}
	return false
}

// dismiss forgets a primary of which nothing is left to do and that the watch
// does not show: its end will not be told.
func (p *pass) dismiss() {
	shown := p.cache.get(p.req.Namespace, p.req.Name)
	if p.err == nil && p.retry == 0 && (shown == nil || shown.GetUID() != p.req.UID) && !p.primary.hasChildren(p.req) {
		p.engine.memories.forget(p.req)
	}
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
		p.memory.reapplyAt = now.Add(every/2 + time.Duration(float64(every)*p.engine.random()))
	case p.reapply && p.err == nil:
		p.memory.reapplyAt = now.Add(jitter(every, p.engine.random))
	}
	// In every pass: the queue keeps only the earliest delay of a request.
	p.again(p.memory.reapplyAt.Sub(now))
}
