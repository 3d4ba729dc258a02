package engine

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/rules"
)

// Names of the cache indexes.
const byOwner = "owner" // UID of the primary that a child belongs to

// A watchKey names a watch: all objects of a kind, in all namespaces, that
// bear a label selector. Where the objects of one are primaries and children
// at once there are two watches, for what they keep and whom they tell differ.
type watchKey struct {
	gvk      schema.GroupVersionKind
	selector string
	role     role
}

// A role is what the objects of a watch are to us.
type role int

const (
	primaryRole role = iota // rules are for them; of managedFields the entry of their status is kept
	childRole               // they are made from templates; the entry of the object itself is kept
	lookupRole              // rules read them; they may be anybody's
)

// A watch keeps a cache of the objects of one kind. It waits for a kind that
// the API server does not know yet, and goes back to waiting when the kind is
// removed.
type watch struct {
	key watchKey

	onEvent func(*object)
	onReady func() // the cache has just been filled, or its schema has become known

	cached  atomic.Pointer[cached]
	problem atomic.Pointer[error] // why there is no cache

	interests interests // in its objects, where they are looked up

	stop context.CancelFunc // ends it; set by start
}

// cached is the synced cache of a watch whose kind exists.
type cached struct {
	kind    Kind
	objects cache.Indexer
	// conditions is nil until the kind's schema is known.
	conditions atomic.Pointer[ConditionList]
}

// get returns the cached object, or nil. A cluster-scoped object has the
// namespace "".
func (c *cached) get(namespace, name string) *object {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	item, ok, _ := c.objects.GetByKey(key)
	if !ok {
		return nil
	}
	o, _ := item.(*object)
	return o
}

// ownedBy returns the cached objects that belong to a primary.
func (c *cached) ownedBy(req Request) []any {
	items, _ := c.objects.ByIndex(byOwner, string(req.UID)) // Its only error is an unknown index.
	return slices.DeleteFunc(items, func(item any) bool { return !item.(*object).belongsTo(req) })
}

// seen reports whether the cache has caught up with a resource version.
func (c *cached) seen(resourceVersion string) bool {
	last := c.objects.LastStoreSyncResourceVersion()
	return last != "" && !older(last, resourceVersion)
}

// holds reports whether the cache has any child of a rule.
func (c *cached) holds(rule string) bool {
	for _, item := range c.objects.List() {
		if item.(*object).rule() == rule {
			return true
		}
	}
	return false
}

// watches starts and holds all watches.
type watches struct {
	client dynamic.Interface
	kinds  Kinds
	log    *slog.Logger

	running sync.WaitGroup
}

// How often the API server is asked again for a kind that it does not know,
// and how many times for the schema of one that it does: an aggregated API may
// have none.
const (
	kindPoll    = time.Second
	schemaTries = 30
)

// start runs the watch until ctx ends or it is stopped. wait returns when all
// have ended.
func (ws *watches) start(ctx context.Context, w *watch) {
	ctx, w.stop = context.WithCancel(ctx)
	ws.running.Go(func() {
		for ctx.Err() == nil {
			if k, ok := ws.await(ctx, w); ok {
				ws.follow(ctx, w, k)
			}
		}
	})
}

func (ws *watches) wait() { ws.running.Wait() }

// await asks for the kind until the API server knows it.
func (ws *watches) await(ctx context.Context, w *watch) (Kind, bool) {
	var found Kind
	err := wait.PollUntilContextCancel(ctx, kindPoll, true, func(ctx context.Context) (bool, error) {
		k, err := ws.kinds.Find(ctx, w.key.gvk)
		if err != nil {
			ws.trouble(w, err)
			return false, nil
		}
		found = k
		w.problem.Store(&errStarting) // It is known now, and not listed yet.
		return true, nil
	})
	return found, err == nil
}

// trouble notes why a watch has no cache, and logs it when it is news.
func (ws *watches) trouble(w *watch, err error) {
	if old := w.problem.Swap(&err); old == nil || (*old).Error() != err.Error() {
		ws.log.Warn("waiting to watch", "kind", w.key.gvk.String(), "reason", err)
	}
}

// follow keeps the cache until ctx ends or the kind is removed.
func (ws *watches) follow(ctx context.Context, w *watch, k Kind) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	informer := dynamicinformer.NewFilteredDynamicInformer(ws.client, k.GVR, metav1.NamespaceAll, 0, w.indexers(), w.tweak).Informer()
	if err := ws.configure(informer, w, cancel); err != nil {
		ws.trouble(w, err)
		return
	}
	var helpers sync.WaitGroup
	helpers.Go(func() {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return
		}
		c := &cached{kind: k, objects: informer.GetIndexer()}
		w.problem.Store(nil)
		w.cached.Store(c)
		ws.log.Debug("watching", "kind", k.GVK.String(), "selector", w.key.selector, "objects", len(c.objects.ListKeys()))
		w.onReady()
		ws.learnConditions(ctx, w, c)
	})
	informer.RunWithContext(ctx)
	cancel()
	helpers.Wait()
	w.cached.Store(nil)
}

// indexers returns the indexes by which the objects are asked for.
func (w *watch) indexers() cache.Indexers {
	if w.key.role == lookupRole {
		return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	}
	return cache.Indexers{byOwner: indexOwner}
}

// tweak narrows the requests to the selector, and keeps the informer's
// fallback list from reading an arbitrarily old state: client-go asks for
// resource version "0" when its first request fails.
func (w *watch) tweak(o *metav1.ListOptions) {
	o.LabelSelector = w.key.selector
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}

func (ws *watches) configure(informer cache.SharedIndexInformer, w *watch, gone func()) error {
	if err := informer.SetTransform(w.transform); err != nil {
		return err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		switch {
		case ctx.Err() != nil:
		case apierrors.IsNotFound(err):
			ws.trouble(w, NoKindError{w.key.gvk})
			gone()
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			ws.log.Debug("watch expired, listing again", "kind", w.key.gvk.String())
		case w.cached.Load() == nil:
			ws.trouble(w, err)
		default:
			ws.log.Warn("watch interrupted, trying again", "kind", w.key.gvk.String(), "error", err)
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

// update tells of both states of an object where the old one may concern
// somebody whom the new one does not.
func (w *watch) update(old, now *object) {
	switch w.key.role {
	case lookupRole:
		if old.GetResourceVersion() == now.GetResourceVersion() {
			return // It was only listed again.
		}
		if !maps.Equal(rules.LabelsOf(old.Object), rules.LabelsOf(now.Object)) {
			w.event(old)
		}
	default:
		if old.trackedBy() != now.trackedBy() {
			w.event(old)
		}
	}
	w.event(now)
}

func (w *watch) event(obj any) {
	if o, ok := obj.(*object); ok {
		w.onEvent(o)
	}
}

func (w *watch) transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // An object of ours, or the last state of a deleted one.
	}
	return newObject(u, w.key.role), nil
}

func indexOwner(obj any) ([]string, error) {
	if uid := obj.(*object).trackedBy(); uid != "" {
		return []string{string(uid)}, nil
	}
	return nil, nil
}

// getsConditions reports whether the objects of a watch may get conditions of
// ours: primaries of a custom kind.
func (w *watch) getsConditions() bool {
	return w.key.role == primaryRole && !rules.BuiltIn(w.key.gvk.Group)
}

// learnConditions reads from the schema how the kind's conditions are to be
// written. Built-in kinds get none of ours.
func (ws *watches) learnConditions(ctx context.Context, w *watch, c *cached) {
	if !w.getsConditions() {
		none := NoConditions
		c.conditions.Store(&none)
		return
	}
	found, tries := NoConditions, 0
	_ = wait.PollUntilContextCancel(ctx, kindPoll, true, func(ctx context.Context) (bool, error) {
		var err error
		if found, err = ws.kinds.Conditions(ctx, c.kind.GVK); err == nil {
			return true, nil
		}
		tries++
		if tries == schemaTries {
			ws.log.Warn("schema not published, conditions are not written", "kind", c.kind.GVK.String(), "error", err)
		}
		return tries >= schemaTries, nil
	})
	if ctx.Err() == nil {
		c.conditions.Store(&found)
		w.onReady()
	}
}
