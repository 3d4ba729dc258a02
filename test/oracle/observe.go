package oracle

import (
	"context"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// Observe records all versions of all objects of some resources, from now until the test
// ends. It resumes a watch that the API server ends.
func Observe(t testing.TB, client dynamic.Interface, resources ...schema.GroupVersionResource) *History {
	t.Helper()
	h := NewHistory()
	for _, resource := range resources {
		h.observe(t, client.Resource(resource))
	}
	return h
}

func (h *History) observe(t testing.TB, client dynamic.ResourceInterface) {
	t.Helper()
	from, err := client.List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	watching, err := toolswatch.NewRetryWatcherWithContext(t.Context(), from.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var observing sync.WaitGroup
	observing.Go(func() {
		for event := range watching.ResultChan() {
			if event.Type == watch.Error {
				t.Errorf("the observer missed some versions: %v", event.Object)
			}
			if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
				h.Record(event.Type, o)
			}
		}
	})
	t.Cleanup(func() { watching.Stop(); observing.Wait() })
}

// Follow records the versions of the objects of a custom resource whose CRD may change until the
// test ends. Such a change ends the watch, and the API server does not resume it: the versions until
// the next list are missed.
func (h *History) Follow(t testing.TB, client dynamic.ResourceInterface) {
	t.Helper()
	record := func(event watch.EventType) func(any) {
		return func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			h.Record(event, o.(*unstructured.Unstructured))
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return client.Watch(ctx, options)
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: record(watch.Added),
			UpdateFunc: func(before, after any) {
				if before.(*unstructured.Unstructured).GetResourceVersion() != after.(*unstructured.Unstructured).GetResourceVersion() {
					record(watch.Modified)(after)
				}
			},
			DeleteFunc: record(watch.Deleted),
		},
	})
	var following sync.WaitGroup
	following.Go(func() { informer.RunWithContext(t.Context()) })
	t.Cleanup(following.Wait)
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the list of the objects did not come")
	}
}
