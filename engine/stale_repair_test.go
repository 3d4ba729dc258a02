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

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/outcome"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
)

// TestStaleRepairsDoNotCount repairs a child that its own controller writes all the time:
// the API server answers 409 to each apply. No writer undoes a repair, so none waits.
func TestStaleRepairsDoNotCount(t *testing.T) {
	e, req := converged(t)
	e.Events, e.Activity = access.Recorder{EventRecorder: reconcile.Untold{}}, access.NewActivity(slog.New(slog.DiscardHandler))
	if _, err := e.Reconciler.Reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	children := e.Plan.Load().Primaries[req.Kind].Children[deployment]
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
	e.Client, e.Sender = client, Dependencies{Client: client}.sender()
	observe(t, show(t, children, cache.Kind(), before), before, changed)
	for i := range 2 * decide.FreeRepairs {
		attempts = 0
		result, err := e.Reconciler.Reconcile(t.Context(), req)
		if err != nil || attempts != 2 || result.RequeueAfter < outcome.StaleRetry || result.RequeueAfter > outcome.LongestStaleRetry {
			t.Fatalf("attempt %d: %d requests, result %v, error %v", i, attempts, result, err)
		}
	}
}

// TestRetryStale expects that a cache that stays behind is asked less and less often, and that a cache that
// was up to date meanwhile is asked soon.
func TestRetryStale(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	p := passFor(access.Subject{Shared: &access.Shared{Clock: now}, Memory: &access.Memory{}})
	for i, want := range []time.Duration{0, 0, 1, 2, 4, 8, 16, 25, 25} {
		want = max(want*outcome.StaleRetry, outcome.StaleRetry)
		got := p.Answers.RetryStale()
		if got != want {
			t.Fatalf("retry %d is after %s, not %s", i, got, want)
		}
		now.SetTime(now.Now().Add(got))
		if i == 0 {
			now.SetTime(now.Now().Add(-got)) // An event came at once.
		}
	}
	e, req := converged(t)
	e.Memories.Get(req).StaleSince = e.Clock.Now().Add(-time.Minute)
	if _, err := e.Reconciler.Reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if since := e.Memories.Get(req).StaleSince; !since.IsZero() {
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
		{"a stale cache", fmt.Errorf("rule: %w", decide.ErrStale), true},
		{"a conflict", fmt.Errorf("write status: %w", conflict), true},
		{"an accepted write", nil, false},
		{"another error", errors.New("no"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d decide.Damper
			for range decide.FreeRepairs {
				d.Repair(now)
			}
			before := d
			waited := d.Repair(now)
			if waited == 0 {
				t.Fatal("the eleventh repair does not wait")
			}
			at := now.Add(waited)
			counted := d
			counted.Repair(at)
			counted.Change(at)
			after := counted
			after.Uncount(d, c.err)
			if (after == d) != c.taken || (after == counted) == c.taken {
				t.Errorf("the count is %+v", *after.Loop)
			}
			if before.Loop.Seen != (time.Time{}) || before.Loop.Repairs != decide.FreeRepairs {
				t.Errorf("an earlier copy has changed: %+v", *before.Loop)
			}
		})
	}
}
