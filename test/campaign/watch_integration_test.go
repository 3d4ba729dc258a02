//go:build integration

package campaign

import (
	"context"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// watchAll reports all versions of all objects that match a selector, from now until the
// test ends. It resumes a watch that the API server ends.
func watchAll(t *testing.T, client dynamic.ResourceInterface, selector string, saw func(*unstructured.Unstructured)) {
	t.Helper()
	from, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: selector, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	watching, err := toolswatch.NewRetryWatcherWithContext(t.Context(), from.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return client.Watch(ctx, options)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var looking sync.WaitGroup
	looking.Go(func() {
		for event := range watching.ResultChan() {
			if event.Type == watch.Error {
				t.Errorf("some versions were missed: %v", event.Object)
			}
			if o, ok := event.Object.(*unstructured.Unstructured); ok {
				saw(o)
			}
		}
	})
	t.Cleanup(func() { watching.Stop(); looking.Wait() })
}
