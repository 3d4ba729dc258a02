//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// patience is how long a test waits for what takes a second or two, or half a
// minute if a controller has just met a new kind.
const patience = 2 * time.Minute

// eventually waits until check returns nil, and fails with its last error.
func (w *world) eventually(what string, check func() error) time.Duration {
	w.Helper()
	return w.await(what, 50*time.Millisecond, check)
}

// closely is eventually for a check that must not miss what is soon over.
func (w *world) closely(what string, check func() error) {
	w.Helper()
	w.await(what, 5*time.Millisecond, check)
}

// await looks again after 5 ms at first, and then after ever longer pauses, up
// to a limit.
func (w *world) await(what string, limit time.Duration, check func() error) time.Duration {
	w.Helper()
	started := time.Now()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, limit) {
		err := check()
		if err == nil {
			return time.Since(started)
		}
		if time.Since(started) > patience {
			w.Fatalf("waited %s for %s: %v", patience, what, err)
		}
		w.rest(pause)
	}
}

// has waits until an object exists whose fields are as wanted.
func (w *world) has(kind schema.GroupVersionKind, name string, want map[string]any) time.Duration {
	w.Helper()
	return w.eventually(fmt.Sprintf("%s %s with %v", kind.Kind, name, want), func() error {
		u := w.get(kind, name)
		if u == nil {
			return errors.New("it does not exist")
		}
		for path, value := range want {
			got, _, err := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
			if err != nil {
				return err
			}
			if fmt.Sprint(got) != fmt.Sprint(value) {
				return fmt.Errorf("%s is %v", path, got)
			}
		}
		return nil
	})
}

// lacks waits until an object is gone.
func (w *world) lacks(kind schema.GroupVersionKind, name string) {
	w.Helper()
	w.eventually(kind.Kind+" "+name+" to be gone", func() error {
		if u := w.get(kind, name); u != nil && u.GetDeletionTimestamp() == nil {
			return errors.New("it exists")
		}
		return nil
	})
}

// condition reports whether an object has a condition in a status.
func condition(u *unstructured.Unstructured, kind, status string) error {
	if u == nil {
		return errors.New("it does not exist")
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		entry, _ := c.(map[string]any)
		if entry["type"] == kind && entry["status"] == status {
			return nil
		}
	}
	return fmt.Errorf("no condition %s=%s in %v", kind, status, list)
}

// is waits for a condition of a primary in its present generation.
func (w *world) is(kind schema.GroupVersionKind, name, conditionType, status string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s %s to be %s=%s", kind.Kind, name, conditionType, status), func() error {
		u := w.get(kind, name)
		if err := condition(u, conditionType, status); err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range list {
			entry := c.(map[string]any)
			if entry["type"] == conditionType && entry["observedGeneration"] != u.GetGeneration() {
				return fmt.Errorf("observed generation %v of %d", entry["observedGeneration"], u.GetGeneration())
			}
		}
		return nil
	})
}

// rest lets time pass, in most tests one in which nothing must happen: there is
// no condition to wait for.
func (w *world) rest(d time.Duration) {
	w.Helper()
	select {
	case <-time.After(d):
	case <-w.Context().Done():
	}
}

// A sighting has all states of an object, however soon they are over.
type sighting struct {
	mu     sync.Mutex
	states []*unstructured.Unstructured
}

// watch begins to note the states of an object.
func (w *world) watch(kind schema.GroupVersionKind, name string) *sighting {
	w.Helper()
	watching, err := w.resource(kind).Watch(w.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
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

// succeeded says what is missing until a Job was seen to have succeeded.
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
