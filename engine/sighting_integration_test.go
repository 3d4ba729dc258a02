//go:build integration

package engine_test

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sighting records all states of an object, even short ones.
type sighting struct {
	mu     sync.Mutex
	states []*unstructured.Unstructured
}

// watch starts to record the states of an object.
func (w *world) watch(kind schema.GroupVersionKind, name string) *sighting {
	w.Helper()
	watching, err := w.Resource(kind).Watch(w.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(watching.Stop)
	s := &sighting{}
	go func() {
		for event := range watching.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok {
				s.mu.Lock()
				s.states = append(s.states, u)
				s.mu.Unlock()
			}
		}
	}()
	return s
}

// succeeded returns an error until a Job was seen to succeed.
func (s *sighting) succeeded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.states {
		if n, _, _ := unstructured.NestedInt64(u.Object, "status", "succeeded"); n == 1 {
			return nil
		}
	}
	return fmt.Errorf("not in any of its %d states", len(s.states))
}
