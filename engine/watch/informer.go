package watch

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// newInformer returns an informer of the objects of a namespaced cache, which decodes only
// what rules read. It calls denied when reading is forbidden.
//
// An informer does less than a namespaced cache promises, so each list of a denied namespace
// has an informer of its own (keepNamespace): an informer shows objects before its first list is
// complete, it would repeat a forbidden list only each minute, and one that is started again
// would begin empty.
func (l *listing) newInformer(n *namespaced, denied func()) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context,
			o metav1.ListOptions) (runtime.Object, error) {
			return l.list(ctx, n, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return l.stream(ctx, n, o)
		},
	}, nil, cache.SharedIndexInformerOptions{Indexers: l.watch.indexers(), ObjectDescription: l.cache.kind.GVR.String()})
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil {
			l.failed(n, err, denied)
		}
	})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(handler{l.watch})
	return informer, err
}

// failed reports the error of a list or watch.
func (l *listing) failed(n *namespaced, err error, denied func()) {
	w := l.watch
	switch {
	case apierrors.IsNotFound(err):
		l.notServed(w, discover.NoKindError{GVK: w.GVK})
		l.cache.end()
	case apierrors.IsForbidden(err):
		denied()
		l.refused(n, err)
	case isExpired(err):
		l.Log.Debug("watch expired, listing again", "kind", w.GVK.String())
	default:
		l.refused(n, err)
	}
}

// A handler reports the changes of an informer. Of the first list it reports nothing: onListed
// handles its objects.
type handler struct{ watch *Watch }

// OnAdd implements cache.ResourceEventHandler.
func (h handler) OnAdd(item any, isInInitialList bool) {
	if !isInInitialList {
		h.watch.changed(nil, item.(*Object))
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (h handler) OnUpdate(old, now any) { h.watch.changed(old.(*Object), now.(*Object)) }

// OnDelete implements cache.ResourceEventHandler.
func (h handler) OnDelete(item any) {
	if last, ok := item.(cache.DeletedFinalStateUnknown); ok {
		item = last.Obj // A repeated list lacks it.
	}
	if o, ok := item.(*Object); ok {
		h.watch.changed(o, nil)
	}
}

// changed reports a change: old is nil for an object that was added, and now for one that was
// deleted. It also reports the old state if that may concern primaries that the new state does
// not concern.
func (w *Watch) changed(old, now *Object) {
	switch {
	case now == nil:
		w.onChange(old)
		return
	case old == nil:
	case w.Role == Lookup:
		if old.GetResourceVersion() == now.GetResourceVersion() {
			return // A repeated list returned the same state.
		}
		if !maps.Equal(rules.LabelsOf(old.content), rules.LabelsOf(now.content)) {
			w.onChange(old)
		}
	case old.namesOthersThan(now), w.Role == Primary && old.GetUID() != now.GetUID():
		w.onChange(old)
	}
	w.onChange(now)
}
