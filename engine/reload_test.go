package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/test/e2e"
)

// endless is a discovery that searches for kinds until its watch stops.
type endless struct {
	discover.Kinds
	began   chan struct{}
	stopped *atomic.Bool
}

func (k endless) Find(ctx context.Context, _ schema.GroupVersionKind) (discover.Kind, error) {
	close(k.began)
	<-ctx.Done()
	k.stopped.Store(true)
	return discover.Kind{}, ctx.Err()
}

// TestStoppedReloadReleasesNothing stops during a reconciliation by the old rules, which
// still needs their watches.
func TestStoppedReloadReleasesNothing(t *testing.T) {
	gk := schema.GroupKind{Group: "g", Kind: "Widget"}
	e := connectParts(&access.Shared{Memories: access.Memories{Of: map[ident.Request]*access.Memory{}}})
	w, kinds := watch.New(watch.Key{}, rules.VisibleToRules()), endless{began: make(chan struct{}), stopped: new(atomic.Bool)}
	watcher := &watch.Watcher{Kinds: kinds, Waiter: &discover.Waiter{}, Log: slog.New(slog.DiscardHandler)}
	watcher.Start(t.Context(), w)
	<-kinds.began
	old := &plan.Plan{Watches: []*watch.Watch{w}}
	e.Plan.Store(old)
	e.Memories.Get(ident.Request{Kind: gk, Name: "one"})
	one := ident.Request{Kind: gk, Name: "one"}
	pass, place := e.Reconciler.Enter(one)
	e.Plan.Store(&plan.Plan{})

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e.retire(ctx, old) {
		t.Error("the old plan was retired while a pass was under way")
	}
	if kinds.stopped.Load() || len(e.Memories.Of) != 1 {
		t.Errorf("stopped is %v, and %d memories are left", kinds.stopped.Load(), len(e.Memories.Of))
	}
	pass.Leave(place)
	if !e.retire(t.Context(), old) {
		t.Error("the old plan was not retired after the pass")
	}
	watcher.Wait()
	if !kinds.stopped.Load() || len(e.Memories.Of) != 0 {
		t.Errorf("after the pass stopped is %v, and %d memories are left", kinds.stopped.Load(), len(e.Memories.Of))
	}
}

// TestReloadTellsWhatItWaitsFor reloads while a reconciliation by the old rules does not end.
func TestReloadTellsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	e, req := converged(t)
	log := &e2e.Log{}
	e.Log = slog.New(slog.NewTextHandler(log, nil))
	e.state.Store(new(string))
	old, place := e.Reconciler.Enter(req)
	next := &plan.Plan{Watches: old.Watches}
	e.Plan.Store(next)
	retired := make(chan bool, 1)
	go func() { retired <- e.retire(t.Context(), old) }()
	e2e.Eventually(t, "the engine to say what it waits for", e2e.Patience, func() error {
		const want = "changed rules wait for reconciliations in progress: Foo/default/example"
		if said := e.problems(next); !slices.Contains(said, want) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	old.Leave(place)
	if !<-retired || len(e.problems(next)) > 0 {
		t.Errorf("after the reconciliation, the engine says %q", e.problems(next))
	}
	if n := log.Count("reload waits for reconciliations in progress"); n != 1 || !strings.Contains(log.String(), "objects=[Foo/default/example]") {
		t.Errorf("it is logged %d times, want once:\n%s", n, log)
	}
}

// TestStartThatFailsIsNotLoggedWithoutEnd retries a start 200 times, which fails for two reasons.
func TestStartThatFailsIsNotLoggedWithoutEnd(t *testing.T) {
	e, _ := converged(t)
	log := &e2e.Log{}
	now := testclock.NewFakeClock(time.Now())
	e.Log, e.Clock = slog.New(slog.NewTextHandler(log, nil)), now
	why := errors.New("connect: connection refused")
	for tries := range 200 {
		if tries == 150 {
			why = errors.New("configmaps is forbidden")
		}
		e.tellFailedStart(why)
		now.Step(30 * time.Second)
	}
	if refused, forbidden := log.Count("connection refused"), log.Count("is forbidden"); refused > 10 || refused < 2 || forbidden == 0 || forbidden > 5 {
		t.Errorf("in 100 minutes it is logged %d times and, for the other reason, %d times:\n%s", refused, forbidden, log)
	}
}

// TestOwnWriteInAnotherVersion reloads from one version of the primary to another.
// Objects read in the first version lack the fields of the second.
func TestOwnWriteInAnotherVersion(t *testing.T) {
	at := func(apiVersion, resourceVersion string) *watch.Object {
		return decodeObject(t, []byte(`{"apiVersion":"`+apiVersion+`","kind":"Widget","metadata":{"name":"one","uid":"u","resourceVersion":"`+resourceVersion+`"}}`))
	}
	m := &access.Memory{Self: at("g/v1", "7")}
	if got := m.Newest(at("g/v1", "5")); got.GetResourceVersion() != "7" {
		t.Errorf("of the same version %s is the newest", got.GetResourceVersion())
	}
	if got := m.Newest(at("g/v2", "5")); got.GetAPIVersion() != "g/v2" {
		t.Errorf("rules for g/v2 get %s", got.GetAPIVersion())
	}
}

// TestReleasedPrimaryStaysReleased removes the last finalizer of a primary, which the
// API server answers with the resourceVersion from before.
func TestReleasedPrimaryStaysReleased(t *testing.T) {
	at := func(finalizers string) *watch.Object {
		return decodeObject(t, []byte(`{"apiVersion":"g/v1","kind":"Widget","metadata":{"name":"one","uid":"u","resourceVersion":"7",
			"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":[`+finalizers+`]}}`))
	}
	m := &access.Memory{Self: at("")}
	if got := m.Newest(at(`"reconcel.dev/a"`)).GetFinalizers(); len(got) > 0 {
		t.Errorf("the released primary has %v again", got)
	}
}

// TestAnotherRuleWithoutStatusWritesNone would panic on any request: the engine has no
// client.
func TestAnotherRuleWithoutStatusWritesNone(t *testing.T) {
	e, req := converged(t)
	for _, more := range []string{"", "\n- {name: late, for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}}\n", ""} {
		swap(t, e, func(s string) string { return s + more })
		if _, err := e.Reconciler.Reconcile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStaleStatusIsNoMatch has the cache show the status before the engine's last write,
// which had other content.
func TestStaleStatusIsNoMatch(t *testing.T) {
	e, req := converged(t)
	e.Memories.Get(req).Status = access.WrittenStatus{Known: true, Version: "11"}
	if _, err := e.Workers.Serve(t.Context(), req); err == nil {
		t.Error("nothing was sent")
	}
}
