package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"reconcel/engine/watch"
)

// TestStaleRepairsDoNotCount repairs a child that its own controller writes all the time:
// the API server answers 409 to each apply. No writer undoes a repair, so none waits.
func TestStaleRepairsDoNotCount(t *testing.T) {
	e, req := converged(t)
	e.events, e.activity = recorder{untold{}}, newActivity(slog.New(slog.DiscardHandler))
	if _, err := e.reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	children := e.plan.Load().primaries[req.Kind].children[deployment]
	cache, err := children.Cache()
	if err != nil {
		t.Fatal(err)
	}
	child, _ := cache.Get("default", "web")
	before := stored(child)
	changed := owning(t, stored(child), watch.Child, `{"f:spec":{"f:template":{}}}`)
	changed.SetResourceVersion("12")
	client := fake.NewSimpleDynamicClient(kruntime.NewScheme())
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, kruntime.Object, error) { return true, changed.DeepCopy(), nil })
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("the object has been modified"))
	attempts := 0
	client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, kruntime.Object, error) {
		attempts++
		return true, nil, conflict
	})
	e.client, e.sender = client, Dependencies{Client: client}.sender()
	observe(t, show(t, children, cache.Kind(), before), before, changed)
	for i := range 2 * freeRepairs {
		attempts = 0
		result, err := e.reconcile(t.Context(), req)
		if err != nil || attempts != 2 || result.RequeueAfter < staleRetry || result.RequeueAfter > longestStaleRetry {
			t.Fatalf("attempt %d: %d requests, result %v, error %v", i, attempts, result, err)
		}
	}
}

// TestRetryStale expects that a cache that stays behind is asked less and less often, and that a cache that
// was up to date meanwhile is asked soon.
func TestRetryStale(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	p := &pass{engine: &Engine{clock: now}, memory: &memory{}}
	for i, want := range []time.Duration{0, 0, 1, 2, 4, 8, 16, 25, 25} {
		want = max(want*staleRetry, staleRetry)
		got := p.retryStale()
		if got != want {
			t.Fatalf("retry %d is after %s, not %s", i, got, want)
		}
		now.SetTime(now.Now().Add(got))
		if i == 0 {
			now.SetTime(now.Now().Add(-got)) // An event came at once.
		}
	}
	e, req := converged(t)
	e.memories.get(req).staleSince = e.clock.Now().Add(-time.Minute)
	if _, err := e.reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if since := e.memories.get(req).staleSince; !since.IsZero() {
		t.Errorf("the cache is up to date, but counts as behind since %s", since)
	}
}

// TestUncount takes back the count of a write that the API server did not take because
// it was based on an old state, and of no other write.
func TestUncount(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "widgets"}, "one", errors.New("changed"))
	for _, c := range []struct {
		name  string
		err   error
		taken bool
	}{
		{"a stale cache", fmt.Errorf("rule: %w", errStale), true},
		{"a conflict", fmt.Errorf("write status: %w", conflict), true},
		{"an accepted write", nil, false},
		{"another error", errors.New("no"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d damper
			for range freeRepairs {
				d.repair(now)
			}
			before := d
			waited := d.repair(now)
			if waited == 0 {
				t.Fatal("the eleventh repair does not wait")
			}
			at := now.Add(waited)
			counted := d
			counted.repair(at)
			counted.change(at)
			after := counted
			after.uncount(d, c.err)
			if (after == d) != c.taken || (after == counted) == c.taken {
				t.Errorf("the count is %+v", *after.loop)
			}
			if before.loop.seen != (time.Time{}) || before.loop.repairs != freeRepairs {
				t.Errorf("an earlier copy has changed: %+v", *before.loop)
			}
		})
	}
}
