package discover

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestWaitersShareARequest has many wait for kinds that come after a while.
func TestWaitersShareARequest(t *testing.T) { synctest.Test(t, testWaitersShareARequest) }

func testWaitersShareARequest(t *testing.T) {
	var asked atomic.Int64
	var tag atomic.Value
	tag.Store("first")
	a := &Waiter{ask: func(context.Context, string) (string, error) {
		asked.Add(1)
		return tag.Load().(string), nil
	}}
	a.poll(t.Context())
	missing := NoKindError{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Late"}}
	mark := a.Mark()
	var waiting sync.WaitGroup
	var woken atomic.Int64
	for range 50 {
		waiting.Go(func() {
			if a.Wait(t.Context(), mark, missing) {
				woken.Add(1)
			}
		})
	}
	time.Sleep(1500 * time.Millisecond)
	if n := woken.Load(); n > 0 {
		t.Errorf("%d woke up though nothing has changed", n)
	}
	if n := asked.Load(); n < 3 || n > 9 {
		t.Errorf("50 waiters made %d requests in 1.5 s, want about 6", n)
	}
	changed := time.Now()
	tag.Store("second")
	waiting.Wait()
	if took := time.Since(changed); took > 2*time.Second || woken.Load() != 50 {
		t.Errorf("%d woke up in %s", woken.Load(), took)
	}
}

// TestWaitingWithoutTags waits at an API server that gives its answers no tag.
func TestWaitingWithoutTags(t *testing.T) { synctest.Test(t, testWaitingWithoutTags) }

func testWaitingWithoutTags(t *testing.T) {
	a := &Waiter{ask: func(context.Context, string) (string, error) { return "", nil }}
	began := time.Now()
	if !a.Wait(t.Context(), a.Mark(), NoKindError{}) {
		t.Error("it did not wake up")
	}
	if took := time.Since(began); took < waitWithoutETag || took > 3*waitWithoutETag {
		t.Errorf("it woke up after %s, want %s", took, waitWithoutETag)
	}
}
