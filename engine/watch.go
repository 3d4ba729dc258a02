package engine

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// Names of the cache indexes.
const byOwner = "owner" // UID of the primary that a child belongs to

// A watchKey names a watch: all objects of a kind, in all namespaces that are
// followed, that bear a label selector. Where the objects of one are primaries and children
// at once there are two watches, for what they keep and whom they tell differ.
type watchKey struct {
	gvk      schema.GroupVersionKind
	selector string
	role     role
}

// String is the role as metrics show it.
func (r role) String() string { return [...]string{"primary", "child", "lookup"}[r] }

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

	cached    atomic.Pointer[cached]
	following atomic.Pointer[cached] // the same, while none of it may be filled yet
	problem   atomic.Pointer[error]  // why the kind cannot be followed; of a part, see part.problem

	interests interests // in its objects, where they are looked up

	stop context.CancelFunc // ends it; set by start
}

// cached is the cache of a watch whose kind exists, and of which at least one
// part is filled.
type cached struct {
	kind  Kind
	parts []*part
	// conditions is nil until the kind's schema is known.
	conditions atomic.Pointer[discover.ConditionList]
	// over ends it: the kind is gone, or is another one.
	over func()
}

// watches starts and holds all watches.
type watches struct {
	client     dynamic.Interface
	kinds      discover.Kinds
	namespaces []string // that are followed; none: all
	discovery  discovery.DiscoveryInterfaceWithContext
	waiter     *discover.Waiter
	log        *slog.Logger

	running sync.WaitGroup
}

// newWatches returns what will watch the cluster of a configuration for an
// engine.
func newWatches(config *rest.Config, e *Engine) (*watches, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	a, err := discover.NewWaiter(d)
	if err != nil {
		return nil, err
	}
	return &watches{client: e.client, kinds: e.kinds, namespaces: e.options.Namespaces, discovery: d, waiter: a, log: e.log}, nil
}

// How often and how many times the API server is asked for the schema of a kind
// that it has just come to know: it publishes it a moment later, and an
// aggregated API may have none.
const (
	schemaTry   = time.Second
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
				pause(ctx, discover.PollInterval) // The kind may be told of for longer than it is served.
			}
		}
	})
}

func (ws *watches) wait() { ws.running.Wait() }

// await asks for the kind until the API server knows it.
func (ws *watches) await(ctx context.Context, w *watch) (Kind, bool) {
	for {
		mark := ws.waiter.Mark()
		k, err := ws.kinds.Find(ctx, w.key.gvk)
		if err == nil {
			err = k.CheckScope(ws.namespaces)
		}
		if err == nil {
			w.problem.Store(nil) // It is known now, and not listed yet.
			return k, true
		}
		ws.trouble(w, err)
		if !ws.waiter.Wait(ctx, mark, err) {
			return Kind{}, false
		}
	}
}

// trouble notes why a kind cannot be followed, and logs it when it is news.
func (ws *watches) trouble(w *watch, err error) {
	if old := w.problem.Swap(&err); old == nil || (*old).Error() != err.Error() {
		ws.log.Warn("cannot watch, will retry", "kind", w.key.gvk.String(), "error", err)
	}
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
	return w.key.role == primaryRole && !kindschema.BuiltInGroup(w.key.gvk.Group)
}

// learnConditions reads from the schema how the kind's conditions are to be
// written, unless the kind gets none of ours.
func (ws *watches) learnConditions(ctx context.Context, w *watch, c *cached) {
	if !w.getsConditions() {
		return
	}
	found, tries := discover.NoConditions, 0
	_ = wait.PollUntilContextCancel(ctx, schemaTry, true, func(ctx context.Context) (bool, error) {
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
