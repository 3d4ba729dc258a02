package watch

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
)

// A listing fills the cache of a watch while the API server serves its kind.
type listing struct {
	*Watcher
	watch *Watch
	cache *Cache
	learn func() // learns ownership after the first list
}

// keep fills the cache until ctx ends or the kind is removed.
func (ws *Watcher) keep(ctx context.Context, w *Watch, k discover.Kind) {
	served, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	l := &listing{Watcher: ws, watch: w, cache: &Cache{kind: k, end: end}}
	l.learn = sync.OnceFunc(func() { running.Go(func() { ws.learnOwnership(served, w, l.cache) }) })
	for _, namespace := range w.ScopeIn(ws.Scope).Namespaces() {
		l.cache.namespaces = append(l.cache.namespaces, newNamespaced(namespace, w))
	}
	if !w.IsCustom() {
		// At once: a primary that is reconciled too early is not enqueued again.
		l.cache.ownership.Store(&discover.Ownership{})
	}
	w.listing.Store(l.cache)
	for _, n := range l.cache.namespaces {
		running.Go(func() { l.keepNamespace(served, n) })
	}
	running.Wait()
	w.listing.Store(nil)
	cached := w.cache.Swap(nil) != nil
	switch {
	case ctx.Err() != nil:
	case w.Role == Primary:
		for o := range l.cache.All() { // They disappeared with their kind.
			w.onChange(o)
		}
	case cached:
		w.onListed() // Those that read them wait for the kind now.
	}
}

// The delay before a denied request is repeated: 10 s ± 20 %. The backoff of
// client-go's reflector would grow to a minute.
const (
	deniedRetry  = 8 * time.Second
	deniedJitter = 0.5
)

// deniedRelist is how often the objects are listed while their watch is denied. With permission to
// list and not to watch, each list succeeds, and each is as large as the first one. Before the first one, only the list
// is asked for: its permission may come alone.
const deniedRelist = 5 * time.Minute

// keepNamespace fills a namespaced cache until ctx ends. While it is denied, it
// keeps what it holds.
func (l *listing) keepNamespace(ctx context.Context, n *namespaced) {
	var denied time.Time // when the last informer ended
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if !n.listed() || time.Since(denied) >= deniedRelist || !l.watchDenied(ctx, n) {
			l.fillNamespace(ctx, n)
			denied = time.Now()
		}
		if ctx.Err() != nil {
			return
		}
		// Without permission to read a kind, no error reports its removal either.
		k, err := l.Kinds.Find(ctx, l.watch.GVK)
		if discover.IsNoKind(err) || err == nil && !k.Alike(l.cache.kind) {
			l.cache.end()
		}
	}, deniedRetry, deniedJitter, true)
}

// fillNamespace runs an informer until ctx ends or the namespace is denied.
func (l *listing) fillNamespace(ctx context.Context, n *namespaced) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var informer cache.SharedIndexInformer
	publish := sync.OnceFunc(func() { l.listed(n, informer.GetIndexer()) })
	informer, err := l.newInformer(n, func() {
		if informer.LastSyncResourceVersion() != "" && cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
			publish() // Only the watch is denied.
		}
		cancel()
	})
	if err != nil {
		l.unlisted(l.watch, n, err)
		return
	}
	var helpers sync.WaitGroup
	helpers.Go(func() {
		if cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
			publish()
		}
	})
	informer.RunWithContext(ctx)
	cancel()
	helpers.Wait()
}

// listed publishes a completed list. It calls onChange for objects that disappeared
// since an earlier list; onListed handles those that exist.
func (l *listing) listed(n *namespaced, objects cache.Indexer) {
	before := n.fill(objects)
	l.watch.cache.Store(l.cache)
	n.logger(l.Log).Debug("watching", "kind", l.cache.kind.GVK.String(), "selector", l.watch.Selector, "objects",
		len(objects.ListKeys()))
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
