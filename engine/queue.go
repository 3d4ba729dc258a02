package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Request asks for the reconciliation of one primary. It does not say what
// happened to the primary. The UID is part of its identity: a primary that is
// deleted and created again under the same name is another primary. The objects
// of the first are cleaned up independently of the second.
type Request = rules.Owner

// A Result says when to reconcile a request again.
type Result struct {
	RequeueAfter time.Duration // 0: only when something changes
}

// Retry delays of one request: 40 ms, doubled at each failure up to 24
// seconds, with a jitter of 20 %. A request is never dropped. There is no
// token bucket for all requests, so however long an outage lasts, each one is
// retried within half a minute after it. That is 11 or 12 attempts in the first
// minute.
const (
	firstRetry = 40 * time.Millisecond
	lastRetry  = 24 * time.Second
)

func newQueue(m queueMetrics) workqueue.TypedRateLimitingInterface[Request] {
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Request]{Name: "primaries", MetricsProvider: m})
	return workqueue.NewTypedRateLimitingQueueWithConfig(NewLimiter(rand.Float64),
		workqueue.TypedRateLimitingQueueConfig[Request]{DelayingQueue: newDelayingQueue(q)})
}

// NewLimiter returns the rate limiter for failed requests. random returns
// numbers in [0,1), which add jitter to the delays.
func NewLimiter(random func() float64) workqueue.TypedRateLimiter[Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[Request](firstRetry, lastRetry), random}
}

type jittered struct {
	workqueue.TypedRateLimiter[Request]
	random func() float64
}

func (j jittered) When(r Request) time.Duration { return jitter(j.TypedRateLimiter.When(r), j.random) }

// route connects the watches of a plan to the queue, and its rules to their
// metrics.
func (e *Engine) route(pl *plan) *plan {
	e.metrics.meter(pl)
	for _, w := range pl.watches {
		onChange := map[watch.Role]func(*watch.Object){
			watch.Primary: func(o *watch.Object) { e.enqueueChanged(primaryKindOf(w.Key), o) }, watch.Child: e.enqueueOwners,
			watch.Lookup: func(o *watch.Object) { w.EachReader(o, e.queue.Add) },
		}
		w.Notify(onChange[w.Role], func() { e.enqueueAll(w) })
	}
	return pl
}

// enqueueChanged enqueues a primary that was added, changed or deleted, unless it is in
// a namespace that no rule selects, and no rule ever wrote for it.
func (e *Engine) enqueueChanged(kind schema.GroupKind, o *watch.Object) {
	req := requestFor(kind, o)
	e.noteOrphaning(req, o)
	if pl := e.plan.Load(); pl != nil {
		pk := pl.primaries[req.Kind]
		if pk != nil && !pk.follows(req.Namespace) && !pk.hasFinalizer(o) && !pk.patched(o) && !e.memories.has(req) {
			return
		}
	}
	e.queue.Add(req)
}

// primaryKindOf returns the kind of the primaries that a watch shows.
func primaryKindOf(k watch.Key) schema.GroupKind {
	if k.Namespace != "" {
		return rules.BundleKind.GroupKind() // Only bundles have a watch of one namespace.
	}
	return k.GVK.GroupKind()
}

// requestFor returns the request for a primary of a kind.
func requestFor(kind schema.GroupKind, o *watch.Object) Request {
	return Request{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: rules.UIDOf(kind, o)}
}

// enqueueOwners enqueues the primaries of a child that was added, changed or
// deleted. If another primary has the same name now, it enqueues that one too. A primary
// of other rules, in a namespace that no rule selects, is left out.
func (e *Engine) enqueueOwners(o *watch.Object) {
	pl := e.plan.Load()
	if pl == nil {
		return // All primaries are enqueued when there is a plan.
	}
	for _, owner := range o.Owners() {
		e.enqueueOwner(pl, o, owner)
	}
}

func (e *Engine) enqueueOwner(pl *plan, o *watch.Object, owner Request) {
	primary := pl.primaries[owner.Kind]
	if primary == nil {
		return
	}
	cache, err := primary.watch.Cache()
	if err != nil {
		return // All primaries are enqueued when there is a cache.
	}
	if !cache.Kind().Namespaced {
		owner.Namespace = ""
	}
	if !primary.follows(owner.Namespace) && !primary.made(o) {
		return
	}
	e.queue.Add(owner)
	if current, _ := cache.Get(owner.Namespace, owner.Name); current != nil && rules.UIDOf(owner.Kind, current) != owner.UID {
		e.queue.Add(requestFor(owner.Kind, current))
	}
}

// follows reports whether any rule selects primaries in a namespace.
func (pk *primaryKind) follows(namespace string) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return r.Follows(namespace) }) || pk.next != nil && pk.next.follows(namespace)
}

// made reports whether a child has the label of one of the rules.
func (pk *primaryKind) made(o *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return r.Name == o.Rule() })
}

// enqueueAll enqueues all primaries whose rules use a watch, after its cache is
// filled.
func (e *Engine) enqueueAll(ready *watch.Watch) {
	pl := e.plan.Load()
	if pl == nil {
		return
	}
	for _, primary := range pl.primaries {
		if primary.uses(ready) {
			e.enqueueKind(primary)
		}
	}
}

// enqueueKind enqueues all primaries of a kind, including deleted primaries
// that still have children.
func (e *Engine) enqueueKind(primary *primaryKind) {
	enqueueShown(slices.AppendSeq([]*watch.Watch{primary.watch}, maps.Values(primary.children)))
	e.enqueueBundles(primary, primary.Rules)
}

// enqueueShown enqueues all primaries in the caches of watches, and the owners of
// all children there. Many kinds may share a watch, so the caller passes each
// watch once.
func enqueueShown(watches []*watch.Watch) {
	for _, w := range watches {
		if w.Role != watch.Lookup { // Its readers are primaries, which other watches show.
			w.Replay()
		}
	}
}

// stopPatience is how long running reconciliations may continue when the engine
// stops.
const stopPatience = 8 * time.Second

// work runs the workers of the queue until ctx ends and returns when the last
// worker is done. Running reconciliations may finish within stopPatience, so
// that no write is interrupted with an unknown result.
func (e *Engine) work(ctx context.Context) {
	passes, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var workers sync.WaitGroup
	for range e.options.Workers {
		workers.Go(func() {
			for ctx.Err() == nil && e.serveNext(passes) {
			}
		})
	}
	<-ctx.Done()
	defer time.AfterFunc(stopPatience, cut).Stop()
	e.queue.ShutDown()
	workers.Wait()
}

func (e *Engine) serveNext(ctx context.Context) bool {
	req, stopped := e.queue.Get()
	if stopped {
		return false
	}
	defer e.queue.Done(req)
	e.metrics.inWork.Add(1)
	defer e.metrics.inWork.Add(-1)
	started := time.Now()
	result, err := e.serve(ctx, req)
	e.metrics.reconciled(req.Kind, err, time.Since(started))
	e.requeue(ctx, req, result, err)
	return true
}

// serve reconciles one request and turns a panic into an error, so that one
// object cannot stop the reconciliation of the others.
func (e *Engine) serve(ctx context.Context, req Request) (result Result, err error) {
	defer e.recoverPanic(req, &err)
	if e.dryRun != nil {
		return e.reconcileDry(ctx, req)
	}
	return e.reconcile(ctx, req)
}

// recoverPanic turns a panic into an error. The deferring goroutine must call it.
func (e *Engine) recoverPanic(req Request, err *error) {
	if v := recover(); v != nil {
		e.metrics.panics.Inc()
		// The value may quote an object: only the stack is logged.
		e.log.Error("panic", "object", req.String(), "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		*err = errors.New("internal error, see the log")
	}
}

// requeue is the only place that schedules a finished request again.
func (e *Engine) requeue(ctx context.Context, req Request, result Result, err error) {
	switch {
	case err == nil:
		e.queue.Forget(req)
		if result.RequeueAfter > 0 {
			e.queue.AddAfter(req, result.RequeueAfter)
		}
	case ctx.Err() != nil || e.queue.ShuttingDown(): // This process does not retry any more.
	case isForbidden(err): // At a fixed interval without backoff: granting a permission sends no event.
		e.log.Warn("reconcile failed, will retry", "object", req.String(), "error", err)
		e.queue.Forget(req)
		e.queue.AddAfter(req, jitter(forbiddenRetry, e.random))
	default:
		e.log.Log(ctx, retryLevel(err), "reconcile failed, will retry", "object", req.String(), "attempt", e.queue.NumRequeues(req)+1, "error", err)
		e.queue.AddRateLimited(req)
		if result.RequeueAfter > 0 {
			e.queue.AddAfter(req, result.RequeueAfter) // The earlier of the two counts.
		}
	}
}

// retryLevel returns the log level of an error that is retried. A cache that is
// not filled yet, or that has just stopped with its kind or the process, is
// normal.
func retryLevel(err error) slog.Level {
	if errors.Is(err, watch.ErrNotListed) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
