//go:build integration

package examples

import (
	"maps"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// moment is the set of objects of a kind at one time.
type moment map[types.UID]*unstructured.Unstructured

// history runs do, and returns the objects of a kind in the test's namespace at every
// moment meanwhile. Polling would miss short states.
func (w *world) history(apiVersion, kind string, do func()) (moments []moment) {
	w.Helper()
	objects := w.Resource(e2e.GVK(apiVersion, kind))
	list, err := objects.List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	now := moment{}
	for i := range list.Items {
		now[list.Items[i].GetUID()] = &list.Items[i]
	}
	watching, err := objects.Watch(w.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		w.Fatal(err)
	}
	defer watching.Stop()
	events := make(chan []watch.Event, 1)
	go func() {
		var seen []watch.Event
		for event := range watching.ResultChan() {
			seen = append(seen, event)
		}
		events <- seen
	}()
	do()
	watching.Stop()
	moments = append(moments, now)
	seen := <-events
	for i, event := range seen {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok && i == len(seen)-1 {
			break // It was interrupted within a moment.
		}
		if !ok {
			w.Fatalf("watch %s: %v", kind, event.Object)
		}
		next := maps.Clone(now)
		next[u.GetUID()] = u
		if event.Type == watch.Deleted {
			delete(next, u.GetUID())
		}
		moments, now = append(moments, next), next
	}
	return moments
}

// extremes returns the lowest and the highest value of a count.
func extremes(moments []moment, count func(moment) int) (least, most int) {
	least, most = count(moments[0]), count(moments[0])
	for _, m := range moments {
		least, most = min(least, count(m)), max(most, count(m))
	}
	return least, most
}

// working counts the Pods of a moment that are ready and not in deletion.
func working(pods moment) (n int) {
	for _, pod := range pods {
		if pod.GetDeletionTimestamp() == nil && condition(pod, "Ready") == nil {
			n++
		}
	}
	return n
}

// active counts the Pods of a moment that are neither terminating nor finished.
func active(pods moment) (n int) {
	for _, pod := range pods {
		phase := field(pod, "status.phase")
		if pod.GetDeletionTimestamp() == nil && phase != "Failed" && phase != "Succeeded" {
			n++
		}
	}
	return n
}
