package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/test/e2e"
)

// oneKind is a discovery that serves one kind without a published schema.
type oneKind struct {
	discover.Kinds
	kind discover.Kind
}

func (o oneKind) Find(context.Context, schema.GroupVersionKind) (discover.Kind, error) {
	return o.kind, nil
}

func (o oneKind) Ownership(context.Context, schema.GroupVersionKind) (discover.Ownership, error) {
	return discover.Ownership{}, discover.NoKindError{GVK: o.kind.GVK}
}

// TestPrimariesAreForgottenWithTheirKind removes a kind without delete events for its
// objects.
func TestPrimariesAreForgottenWithTheirKind(t *testing.T) {
	e, req := converged(t)
	look(t, e, req)
	c := cacheOf(t, e, req)
	k := c.Kind()
	k.GVR = k.GVK.GroupVersion().WithResource("foos")
	self, _ := c.Get(req.Namespace, req.Name)
	text, err := self.DeepCopy().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var gone atomic.Bool
	events, end := io.Pipe()
	served := e2e.Served{
		List: func(string) ([]string, error) { return []string{string(text)}, nil },
		Watch: func() (io.ReadCloser, error) {
			if gone.Load() {
				return nil, apierrors.NewNotFound(k.GVR.GroupResource(), "")
			}
			return events, nil
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := watch.New(watch.Key{GVK: k.GVK, Role: watch.Primary}, rules.VisibleToRules())
	told := make(chan struct{}, 1)
	w.Notify(func(o *watch.Object) {
		e.Queue.Add(ident.RequestFor(o.GroupVersionKind().GroupKind(), o))
		if gone.Load() {
			told <- struct{}{}
		}
	}, func() {
		gone.Store(true)
		_ = end.Close()
	})
	e.Plan.Load().Primaries[req.Kind].Watch = w
	watcher := &watch.Watcher{Client: served.Client(t), Kinds: oneKind{kind: k}, Waiter: &discover.Waiter{}, Log: slog.New(slog.DiscardHandler)}
	watcher.Start(ctx, w)
	<-told
	cancel()
	watcher.Wait()
	for e.Queue.Len() > 0 {
		e.Workers.ServeNext(t.Context())
	}
	if len(e.Memories.Of) > 0 || counted(t, e)["rule_primaries foo ready"] != 0 {
		t.Errorf("%d memories are left, and there is counted %v", len(e.Memories.Of), counted(t, e))
	}
}

// TestNothingIsForgottenUnread forbids reading one of two namespaces. A change of the
// inventory would panic: the engine has none.
func TestNothingIsForgottenUnread(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	k := discover.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource("configmaps"), Namespaced: true}
	served := e2e.Served{List: func(namespace string) ([]string, error) {
		if namespace == "b" {
			return nil, apierrors.NewForbidden(k.GVR.GroupResource(), "", nil)
		}
		return nil, nil
	}}
	w := watch.New(watch.Key{GVK: gvk, Role: watch.Child}, rules.VisibleToRules())
	listed := make(chan struct{}, 1)
	w.Notify(func(*watch.Object) {}, func() { listed <- struct{}{} })
	watcher := &watch.Watcher{
		Client: served.Client(t), Kinds: oneKind{kind: k}, Waiter: &discover.Waiter{}, Scope: watch.Scope{"a", "b"}, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	watcher.Start(ctx, w)
	defer watcher.Wait()
	defer cancel()
	<-listed
	rule := &rules.Rule{Name: "r"}
	kinds := map[inventory.Key][]schema.GroupVersionKind{inventory.KeyOf(rule): {gvk}}
	if err := new(Engine).Cleanup.PruneKind(t.Context(), kinds, rule, w); err != nil {
		t.Error(err)
	}
	if len(kinds[inventory.KeyOf(rule)]) != 1 {
		t.Error("the kind is forgotten, and something of it may be left")
	}
}

func TestForgottenPrimariesReadNothing(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Thing"}
	w := watch.New(watch.Key{GVK: gvk, Role: watch.Lookup}, rules.VisibleToRules())
	show(t, w, discover.Kind{GVK: gvk, Namespaced: true})
	ms := access.Memories{Of: map[ident.Request]*access.Memory{}}
	one, two, three := ident.Request{Name: "one"}, ident.Request{Name: "two"}, ident.Request{Name: "three"}
	for _, req := range []ident.Request{one, two} {
		if _, err := w.Lookup(&ms.Get(req).Reads, req, rules.Query{Namespace: "a", Name: "x"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ms.Forget(one)
	ms.Forget(three)
	var told []string
	thing := decodeObject(t, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Thing","metadata":{"namespace":"a","name":"x"}}`))
	w.EachReader(thing, func(req ident.Request) { told = append(told, req.Name) })
	if got := strings.Join(told, " "); got != "two" {
		t.Errorf("told %q, want two", got)
	}
}

// TestSlowStartIsNoWarning expects no warning for a kind that is still being listed. A
// forbidden kind needs one.
func TestSlowStartIsNoWarning(t *testing.T) {
	slow, barred := watch.New(watch.Key{}, rules.VisibleToRules()), watch.New(watch.Key{}, rules.VisibleToRules())
	barred.Fail(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", nil))
	if got := missingLevel([]*watch.Watch{slow}); got != slog.LevelInfo {
		t.Errorf("a slow start is told at level %s", got)
	}
	if got := missingLevel([]*watch.Watch{slow, barred}); got != slog.LevelWarn {
		t.Errorf("a missing permission is told at level %s", got)
	}
}

// TestStopLogsNoRetries expects no announcement of a retry from a process that
// stops.
func TestStopLogsNoRetries(t *testing.T) {
	e, req := converged(t)
	log := &e2e.Log{}
	e.Log = slog.New(slog.NewTextHandler(log, nil))
	e.Workers.Requeue(t.Context(), req, outcome.Result{}, watch.ErrNotListed)
	e.Queue.ShutDown()
	e.Workers.Requeue(t.Context(), req, outcome.Result{}, apierrors.NewInternalError(context.Canceled))
	if log.Count("will retry") > 0 {
		t.Errorf("it says so:\n%s", log)
	}
}
