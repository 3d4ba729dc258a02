package watch

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
)

// A listing fills the cache of a watch while the API server serves its kind.
type listing struct {
	*Watcher
	watch *Watch
	cache *Cache
	learn func() // learns conditions after the first list
}

// keep fills the cache until ctx ends or the kind is removed.
func (ws *Watcher) keep(ctx context.Context, w *Watch, k discover.Kind) {
	served, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	l := &listing{Watcher: ws, watch: w, cache: &Cache{kind: k, end: end}}
	l.learn = sync.OnceFunc(func() { running.Go(func() { ws.learnConditions(served, w, l.cache) }) })
	for _, namespace := range w.ScopeIn(ws.Scope).Namespaces() {
		l.cache.namespaces = append(l.cache.namespaces, newNamespaced(namespace, w))
	}
	if !w.GetsConditions() {
		none := discover.NoConditions // At once: a primary that is reconciled too early is not enqueued again.
		l.cache.conditions.Store(&none)
	}
	w.listing.Store(l.cache)
	for _, n := range l.cache.namespaces {
		running.Go(func() { l.keepNamespace(served, n) })
	}
	running.Wait()
	w.listing.Store(nil)
	w.cache.Store(nil)
	if ctx.Err() == nil && w.Role == Primary {
		for o := range l.cache.All() { // They disappeared with their kind.
			w.onChange(o)
		}
	}
}

// The delay before a denied list is repeated: 10 s ± 20 %. The backoff of
// client-go's reflector would grow to a minute.
const (
	deniedRetry  = 8 * time.Second
	deniedJitter = 0.5
)

// keepNamespace fills a namespaced cache until ctx ends. While it is denied, it
// keeps what it holds.
func (l *listing) keepNamespace(ctx context.Context, n *namespaced) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		l.fillNamespace(ctx, n)
		if ctx.Err() != nil {
			return
		}
		// Without permission to read a kind, no error reports its removal either.
		k, err := l.Kinds.Find(ctx, l.watch.GVK)
		if discover.IsNoKind(err) || err == nil && k != l.cache.kind {
			l.cache.end()
		}
	}, deniedRetry, deniedJitter, true)
}

// The delay before a failed list or watch is repeated: those of client-go's reflector. It is
// short again after two minutes without failure.
var (
	retry      = wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 6, Cap: 30 * time.Second}
	retryReset = 2 * time.Minute
)

// fillNamespace lists and watches a namespace until ctx ends or it is denied.
func (l *listing) fillNamespace(ctx context.Context, n *namespaced) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup
	defer helpers.Wait()
	s := &store{watch: l.watch, objects: newIndexer(l.watch)}
	s.listed = func() {
		l.listed(n, s.objects)
		helpers.Go(func() { l.confirmWatch(ctx, n) })
	}
	kind := l.cache.kind.GVR.String()
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return l.list(ctx, n, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return l.stream(ctx, n, o)
		},
	}, nil, s, cache.ReflectorOptions{Name: kind, TypeDescription: kind})
	_ = retry.DelayWithReset(clock.RealClock{}, retryReset).Until(ctx, true, true, func(ctx context.Context) (over bool, _ error) {
		err := reflector.ListAndWatchWithContext(ctx)
		if err != nil && ctx.Err() == nil {
			over = l.failed(n, err)
		}
		return over, nil
	}) // Its only error is the end of ctx.
	cancel()
}

// unreadable makes the next request ask for JSON.
func (l *listing) unreadable(err error) {
	l.watch.useJSON()
	l.Log.Debug("cannot read Protobuf, will use JSON", "kind", l.cache.kind.GVK.String(), "error", err)
}

// listed publishes a completed list. It calls onChange for objects that disappeared
// since an earlier list; onListed handles those that exist.
func (l *listing) listed(n *namespaced, objects cache.Indexer) {
	n.denied.Store(nil)
	before := n.fill(objects)
	l.watch.cache.Store(l.cache)
	n.logger(l.Log).Debug("watching", "kind", l.cache.kind.GVK.String(), "selector", l.watch.Selector, "objects", len(objects.ListKeys()))
	if before != nil {
		for _, item := range before.List() {
			old := item.(*Object)
			if now, _ := l.cache.Get(old.GetNamespace(), old.GetName()); now == nil || now.GetUID() != old.GetUID() {
				l.watch.onChange(old)
			}
		}
	}
	l.watch.onListed()
	l.learn()
}

// failed reports the error of a list or watch, and whether it is over: the namespace is denied.
func (l *listing) failed(n *namespaced, err error) (over bool) {
	w := l.watch
	switch {
	case apierrors.IsNotFound(err):
		l.notServed(w, discover.NoKindError{GVK: w.GVK})
		l.cache.end()
	case apierrors.IsForbidden(err):
		l.denied(n, err)
		return true
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		l.Log.Debug("watch expired, listing again", "kind", w.GVK.String())
	case !n.listed():
		l.unlisted(w, n, err)
	default:
		n.logger(l.Log).Warn("watch interrupted, will retry", "kind", w.GVK.String(), "error", err)
	}
	return false
}
