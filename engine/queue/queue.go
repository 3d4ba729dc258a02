package queue

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Router puts the primaries into the queue that a change may concern.
type Router struct {
	*access.Shared
	Cluster *access.Cluster
	idle    atomic.Bool
}

// StandBy lets the router enqueue nothing until Begin, because nothing is served: the queue would keep every primary
// that ever was.
func (e *Router) StandBy() { e.idle.Store(true) }

// Begin ends StandBy, and enqueues what the active plan shows.
func (e *Router) Begin() {
	e.idle.Store(false)
	e.Follow(nil, e.Plan.Load())
}

func (e *Router) add(req ident.Request) {
	if !e.idle.Load() {
		e.Queue.Add(req)
	}
}

// NewQueue returns the queue of primaries, whose delays end by the clock. A failed request is retried after
// outcome.FirstRetry, doubled at each failure up to outcome.LastRetry, with a jitter of
// 20 %. A request is never dropped. There is no token bucket for all requests, so
// however long an outage lasts, each one is retried within half a minute after it. That
// is 11 or 12 attempts in the first minute.
func NewQueue(c access.Clock, m plan.QueueMetrics) workqueue.TypedRateLimitingInterface[ident.Request] {
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[ident.Request]{Name: "primaries", MetricsProvider: m})
	return workqueue.NewTypedRateLimitingQueueWithConfig(NewLimiter(rand.Float64),
		workqueue.TypedRateLimitingQueueConfig[ident.Request]{DelayingQueue: newDelayingQueue(q, c)})
}

// NewLimiter returns the rate limiter for failed requests. random returns
// numbers in [0,1), which add jitter to the delays.
func NewLimiter(random func() float64) workqueue.TypedRateLimiter[ident.Request] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[ident.Request](outcome.FirstRetry,
		outcome.LastRetry), random}
}

type jittered struct {
	workqueue.TypedRateLimiter[ident.Request]
	random func() float64
}

// When implements workqueue.TypedRateLimiter.
func (j jittered) When(r ident.Request) time.Duration {
	return outcome.Jitter(j.TypedRateLimiter.When(r), j.random)
}

// Route connects the watches of a plan to the queue, and its rules to their
// metrics.
func (e *Router) Route(pl *plan.Plan) *plan.Plan {
	e.Metrics.Meter(pl)
	for _, w := range pl.Watches {
		onChange := map[watch.Role]func(*watch.Object){
			watch.Primary: func(o *watch.Object) { e.enqueueChanged(primaryKindOf(w.Key), o) }, watch.Child: e.enqueueOwners,
			watch.Lookup: func(o *watch.Object) { w.EachReader(o, e.add) },
		}
		w.Notify(onChange[w.Role], func() { e.enqueueAll(w) })
	}
	return pl
}

// enqueueChanged enqueues a primary that was added, changed or deleted, unless it is in
// a namespace that no rule selects, and no rule ever wrote for it.
func (e *Router) enqueueChanged(kind schema.GroupKind, o *watch.Object) {
	req := ident.RequestFor(kind, o)
	e.noteOrphaning(req, o)
	if pl := e.Plan.Load(); pl != nil {
		pk := pl.Primaries[req.Kind]
		if pk != nil && !pk.Follows(req.Namespace) && !pk.HasFinalizer(o) && !pk.Patched(o) && !e.Memories.Has(req) {
			return
		}
	}
	e.add(req)
}

// primaryKindOf returns the kind of the primaries that a watch shows.
func primaryKindOf(k watch.Key) schema.GroupKind {
	if k.Namespace != "" {
		return rules.BundleKind.GroupKind() // Only bundles have a watch of one namespace.
	}
	return k.GVK.GroupKind()
}

// enqueueOwners enqueues the primaries of a child that was added, changed or
// deleted. If another primary has the same name now, it enqueues that one too. A primary
// of other rules, in a namespace that no rule selects, is left out.
func (e *Router) enqueueOwners(o *watch.Object) {
	pl := e.Plan.Load()
	if pl == nil {
		return // All primaries are enqueued when there is a plan.
	}
	for _, owner := range o.Owners() {
		e.enqueueOwner(pl, o, owner)
	}
}

func (e *Router) enqueueOwner(pl *plan.Plan, o *watch.Object, owner ident.Request) {
	primary := pl.Primaries[owner.Kind]
	if primary == nil {
		return
	}
	cache, err := primary.Watch.Cache()
	if err != nil {
		return // All primaries are enqueued when there is a cache.
	}
	if !cache.Kind().Namespaced {
		owner.Namespace = ""
	}
	if !primary.Follows(owner.Namespace) && !primary.Made(o) {
		return
	}
	e.add(owner)
	if current, _ := cache.Get(owner.Namespace, owner.Name); current != nil &&
		rules.UIDOf(owner.Kind, current) != owner.UID {
		e.add(ident.RequestFor(owner.Kind, current))
	}
}

// enqueueAll enqueues all primaries whose rules use a watch, after its cache is
// filled.
func (e *Router) enqueueAll(ready *watch.Watch) {
	pl := e.Plan.Load()
	if pl == nil {
		return
	}
	for _, primary := range pl.Primaries {
		if primary.Uses(ready) {
			e.EnqueueKind(primary)
		}
	}
}

// EnqueueKind enqueues all primaries of a kind, including deleted primaries
// that still have children.
func (e *Router) EnqueueKind(primary *plan.PrimaryKind) {
	enqueueShown(slices.AppendSeq([]*watch.Watch{primary.Watch}, maps.Values(primary.Children)))
	e.EnqueueBundles(primary, primary.Rules)
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

// EnqueueBundles enqueues the bundles of rules, whether their ConfigMaps exist or not.
func (e *Router) EnqueueBundles(pk *plan.PrimaryKind, of []*rules.Rule) {
	if !pk.ForCluster() {
		return
	}
	for _, r := range of {
		e.add(e.Cluster.BundleOf(r.Name))
	}
}

// EnqueueDeselected enqueues the primaries that rules no longer select, and that still have
// something of them.
func (e *Router) EnqueueDeselected(ctx context.Context, primary *plan.PrimaryKind) error {
	c, err := primary.Watch.Cache()
	if err != nil {
		return err // Also if the kind is not served: it may be later.
	}
	found := []ident.Request{}
	if err := e.Cluster.EachOf(ctx, c.Kind(), func(o *watch.Object) {
		if cached, _ := c.Get(o.GetNamespace(), o.GetName()); cached == nil && e.Cluster.IsMarked(primary, o) {
			req := ident.RequestFor(primary.GVK.GroupKind(), o)
			e.Memories.Get(req) // Until it has nothing of the rules any more.
			found = append(found, req)
			e.add(req)
		}
	}); err != nil {
		return err
	}
	primary.Deselected.Store(&found)
	return nil
}

// A deletion with --cascade=orphan keeps the children. The API server then gives the primary the
// finalizer "orphan", and the garbage collector removes the owner references of the children before
// it removes the finalizer. It does not know of children in other namespaces, and nothing shows
// afterwards that there was such a finalizer. So each event of a primary is examined.

// noteOrphaning remembers that a primary is being deleted without its children.
func (e *Router) noteOrphaning(req ident.Request, o *watch.Object) {
	if o.Terminating() && slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		e.Memories.Get(req).Orphaning.Store(true)
	}
}

// enqueueReached enqueues the primaries that a rollout reaches before or after a reload.
func (e *Router) enqueueReached(before, now *plan.PrimaryKind) {
	cache, err := now.Watch.Cache()
	if before.Next == nil && now.Next == nil || err != nil {
		return
	}
	for o := range cache.All() {
		req := ident.RequestFor(now.GVK.GroupKind(), o)
		if slices.ContainsFunc([]*plan.PrimaryKind{before, now}, func(pk *plan.PrimaryKind) bool {
			return pk.Next != nil && pk.Rollout.Reaches(req, o)
		}) {
			e.add(req)
		}
	}
}
