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

// A Request asks to look at one primary object. It says nothing of what
// happened to it. The UID is part of its identity: a primary that is deleted
// and made again under the same name is another one, and what is left of the
// first is cleaned up without a glance at the second.
type Request = rules.Owner

// A Result is what the queue should do with a request after it was served.
type Result struct {
	RequeueAfter time.Duration // 0: only when something changes
}

// Retry delays of one request: 10 ms, doubled at each failure up to 2
// minutes, with a jitter of 20 %. A request is never dropped, and there is no
// bucket that all requests share: after an outage everything is retried within
// the cap.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 2 * time.Minute
)

func newQueue(m queueMetrics) workqueue.TypedRateLimitingInterface[Request] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(NewLimiter(rand.Float64),
		workqueue.TypedRateLimitingQueueConfig[Request]{Name: "primaries", MetricsProvider: m})
}

// NewLimiter returns what says when a request that failed is served again. The
// numbers in [0,1) that random returns spread it.
func NewLimiter(random func() float64) workqueue.TypedRateLimiter[Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[Request](firstRetry, lastRetry), random}
}

type jittered struct {
	workqueue.TypedRateLimiter[Request]
	random func() float64
}

// When implements workqueue.TypedRateLimiter.
func (j jittered) When(r Request) time.Duration { return jitter(j.TypedRateLimiter.When(r), j.random) }

// route says whom the new watches of a plan tell of what, and what counts for
// its rules.
func (e *Engine) route(pl *plan) *plan {
	e.metrics.meter(pl)
	for _, w := range pl.watches {
		onChange := map[watch.Role]func(*watch.Object){
			watch.Primary: e.enqueuePrimary, watch.Child: e.enqueueOwner,
			watch.Lookup: func(o *watch.Object) { w.EachReader(o, e.queue.Add) },
		}
		w.Notify(onChange[w.Role], func() { e.enqueueAll(w) })
	}
	return pl
}

// enqueuePrimary asks for a look at a primary that was added, changed or
// deleted.
func (e *Engine) enqueuePrimary(o *watch.Object) {
	e.queue.Add(Request{
		Kind:      schema.GroupKind{Group: o.GroupVersionKind().Group, Kind: o.GetKind()},
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
	})
}

// enqueueOwner asks for a look at the primary of a child that was added,
// changed or deleted, and at the one that now bears its name.
func (e *Engine) enqueueOwner(o *watch.Object) {
	owner, ok := o.Owner()
	if !ok {
		return
	}
	pl := e.plan.Load()
	if pl == nil {
		return // Everything is looked at when there is one.
	}
	primary := pl.primaries[owner.Kind]
	if primary == nil {
		return
	}
	cache, err := primary.watch.Cache()
	if err != nil {
		return // Everything is looked at when there is one.
	}
	if !cache.Kind().Namespaced {
		owner.Namespace = ""
	}
	e.queue.Add(owner)
	if current, _ := cache.Get(owner.Namespace, owner.Name); current != nil && current.GetUID() != owner.UID {
		e.enqueuePrimary(current)
	}
}

// enqueueAll asks for a look at every primary that a watch has to do with,
// after its cache has been filled.
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

// enqueueKind asks for a look at every primary of a kind, and at what still has
// children of it.
func (e *Engine) enqueueKind(primary *primaryKind) {
	enqueueShown(slices.AppendSeq([]*watch.Watch{primary.watch}, maps.Values(primary.children)))
}

// enqueueShown asks for a look at every primary that watches show, and at what
// has children there: each watch once, since many kinds may share it.
func enqueueShown(watches []*watch.Watch) {
	for _, w := range watches {
		if w.Role != watch.Lookup { // Who reads it is a primary, and shown as such.
			w.Replay()
		}
	}
}

// stopPatience is how long passes that are under way may go on when the engine
// is to stop.
const stopPatience = 8 * time.Second

// work serves the queue with a number of workers until ctx ends, and returns
// when the last of them is done. What is under way then is ended, so that no
// write is left of which nobody knows whether it has happened.
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
// poisonous object cannot stop the others.
func (e *Engine) serve(ctx context.Context, req Request) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.metrics.panics.Inc()
			// The value may quote an object: only the stack is logged.
			e.log.Error("panic", "object", req.String(), "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: internal error, see the log", req)
		}
	}()
	return e.reconcile(ctx, req)
}

// requeue alone decides when a request is served again.
func (e *Engine) requeue(ctx context.Context, req Request, result Result, err error) {
	switch {
	case err == nil:
		e.queue.Forget(req)
		if result.RequeueAfter > 0 {
			e.queue.AddAfter(req, result.RequeueAfter)
		}
	case ctx.Err() != nil || e.queue.ShuttingDown(): // Nobody tries again in this process.
	case isForbidden(err): // Not ever later: the grant of a permission sends no event.
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

// retryLevel is how much people need to hear of an error that is tried again.
// That a cache is being filled, or has just ended with its kind or the process,
// is no trouble.
func retryLevel(err error) slog.Level {
	if errors.Is(err, watch.ErrNotListed) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
