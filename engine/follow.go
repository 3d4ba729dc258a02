package engine

import (
	"context"
	"math/rand/v2"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
)

// A following is the time in which a watch keeps a cache of its kind.
type following struct {
	*watches
	watch *watch
	cache *cached
	began chan struct{} // closed when the first part is filled
	begin func()        // closes it
}

// follow keeps the cache until ctx ends or the kind is removed.
func (ws *watches) follow(ctx context.Context, w *watch, k Kind) {
	present, over := context.WithCancel(ctx)
	defer over()
	f := &following{watches: ws, watch: w, cache: &cached{kind: k, over: over}, began: make(chan struct{})}
	f.begin = sync.OnceFunc(func() { close(f.began) })
	for _, namespace := range parts(ws.namespaces) {
		f.cache.parts = append(f.cache.parts, newPart(namespace, w.indexers()))
	}
	if !w.getsConditions() {
		none := discover.NoConditions // At once: no pass that comes too soon is asked for again.
		f.cache.conditions.Store(&none)
	}
	w.following.Store(f.cache)
	var running sync.WaitGroup
	for _, p := range f.cache.parts {
		running.Go(func() { f.keep(present, p) })
	}
	running.Go(func() {
		select {
		case <-present.Done():
		case <-f.began:
			ws.learnConditions(present, w, f.cache)
		}
	})
	running.Wait()
	w.following.Store(nil)
	w.cached.Store(nil)
	if ctx.Err() == nil && w.key.role == primaryRole {
		for _, item := range f.cache.list() { // They have gone with their kind.
			w.event(item)
		}
	}
}

// keep keeps a part until ctx ends. While it may not be read, it holds what it
// held before, which gets old.
func (f *following) keep(ctx context.Context, p *part) {
	for ctx.Err() == nil {
		f.fill(ctx, p)
		if ctx.Err() != nil {
			return
		}
		pause(ctx, jitter(forbiddenPoll, rand.Float64))
		// Who may not read a kind is not told either that it has gone.
		k, err := f.kinds.Find(ctx, f.watch.key.gvk)
		if discover.IsNoKind(err) || err == nil && k != f.cache.kind {
			f.cache.over()
		}
	}
}

// fill lists and follows a part until ctx ends, or it may not be read.
func (f *following) fill(ctx context.Context, p *part) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := f.watch
	informer := dynamicinformer.NewFilteredDynamicInformer(f.client, f.cache.kind.GVR, p.namespace, 0, w.indexers(), w.tweak).Informer()
	if err := f.configure(informer, p, cancel); err != nil {
		f.partTrouble(w, p, err)
		return
	}
	var helpers sync.WaitGroup
	helpers.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			f.filled(p, informer.GetIndexer())
			f.confirm(ctx, p)
		}
	})
	informer.RunWithContext(ctx)
	cancel()
	helpers.Wait()
}

// filled makes known what a part has been found to hold, and tells of what has
// gone from it meanwhile, if it was filled before. The rest is told by onReady.
func (f *following) filled(p *part, objects cache.Indexer) {
	log, kind := p.log(f.log), f.cache.kind.GVK.String()
	p.refused.Store(nil)
	before := p.show(objects)
	f.watch.cached.Store(f.cache)
	log.Debug("watching", "kind", kind, "selector", f.watch.key.selector, "objects", len(objects.ListKeys()))
	if before != nil {
		for _, item := range before.List() {
			old := item.(*object)
			if now := f.cache.get(old.GetNamespace(), old.GetName()); now == nil || now.GetUID() != old.GetUID() {
				f.watch.event(old)
			}
		}
	}
	f.watch.onReady()
	f.begin()
}

// configure says what becomes of the errors and of the objects of a part. refuse
// is called when it may not be read.
func (f *following) configure(informer cache.SharedIndexInformer, p *part, refuse func()) error {
	w := f.watch
	if err := informer.SetTransform(w.transform); err != nil {
		return err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		switch {
		case ctx.Err() != nil:
		case apierrors.IsNotFound(err):
			f.trouble(w, discover.NoKindError{GVK: w.key.gvk})
			f.cache.over()
		case apierrors.IsForbidden(err):
			f.refusal(w, p, err)
			refuse()
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			f.log.Debug("watch expired, listing again", "kind", w.key.gvk.String())
		case !p.filled():
			f.partTrouble(w, p, err)
		default:
			p.log(f.log).Warn("watch interrupted, will retry", "kind", w.key.gvk.String(), "error", err)
		}
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.event(obj) },
		UpdateFunc: func(old, obj any) { w.update(old.(*object), obj.(*object)) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			w.event(obj)
		},
	})
	return err
}
