package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"reconcel/engine/discover"
)

var services = Kind{
	GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Namespaced: true,
}

// TestConditionsOfBuiltInKindsAreKnownFromTheStart looks at what is known when
// passes begin: nobody would ask for them again later.
func TestConditionsOfBuiltInKindsAreKnownFromTheStart(t *testing.T) {
	k := services
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{k.GVR: "ServiceList"},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a", "namespace": "b"}}})
	ws := &watches{client: client, log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	w := &watch{key: watchKey{k.GVK, "", primaryRole}, onEvent: func(*object) {}}
	known := false
	w.onReady = func() {
		known = w.cached.Load().conditions.Load() != nil
		cancel()
	}
	ws.follow(ctx, w, k)
	if !known {
		t.Error("they are not known when the cache is filled")
	}
}

// TestPrimariesAreForgottenWithTheirKind removes a kind without a word on its
// objects.
func TestPrimariesAreForgottenWithTheirKind(t *testing.T) {
	e, req := converged(t)
	look(t, e, req)
	primary := e.plan.Load().primaries[req.Kind]
	k := primary.watch.cached.Load().kind
	k.GVR = k.GVK.GroupVersion().WithResource("foos")
	self := primary.watch.cached.Load().get(req.Namespace, req.Name)
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{k.GVR: "FooList"}, &self.Unstructured)
	var gone atomic.Bool
	follows := apiwatch.NewFake()
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
		if gone.Load() {
			return true, nil, apierrors.NewNotFound(k.GVR.GroupResource(), "")
		}
		return true, follows, nil
	})
	ws := &watches{client: client, log: slog.New(slog.DiscardHandler), kinds: unpublished{}}
	primary.watch.onReady = func() {
		gone.Store(true)
		follows.Stop()
	}
	ws.follow(t.Context(), primary.watch, k)
	if e.queue.Len() == 0 {
		t.Fatal("nobody is told")
	}
	for e.queue.Len() > 0 {
		e.serveNext(t.Context())
	}
	if len(e.memories.of) > 0 || counted(t, e)["rule_primaries foo ready"] != 0 {
		t.Errorf("%d memories are left, and there is counted %v", len(e.memories.of), counted(t, e))
	}
}

// unpublished are kinds without schemas.
type unpublished struct{ discover.Kinds }

func (unpublished) Conditions(_ context.Context, gvk schema.GroupVersionKind) (discover.ConditionList, error) {
	return discover.NoConditions, discover.NoKindError{GVK: gvk}
}

// oneKind is the kind that an API server tells of.
type oneKind struct {
	unpublished
	kind Kind
}

func (o oneKind) Find(context.Context, schema.GroupVersionKind) (Kind, error) { return o.kind, nil }

// TestKindThatIsToldOfAndNotServed has one part of an API server still tell of a
// kind that another one does not serve any more.
func TestKindThatIsToldOfAndNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := services
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{k.GVR: "ServiceList"})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		const most = 50
		var lists atomic.Int64
		client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			if lists.Add(1) > most {
				cancel()
			}
			return true, nil, apierrors.NewNotFound(k.GVR.GroupResource(), "")
		})
		ws := &watches{client: client, log: slog.New(slog.DiscardHandler), kinds: oneKind{kind: k}, waiter: &discover.Waiter{}}
		ws.start(ctx, &watch{key: watchKey{k.GVK, "", primaryRole}, onEvent: func(*object) {}, onReady: func() {}})
		ws.wait()
		if n := lists.Load(); n > most {
			t.Errorf("it was listed %d times within 10 s", n)
		}
	})
}

// TestChangedKindIsFollowedAnew has a kind get the status subresource.
func TestChangedKindIsFollowedAnew(t *testing.T) {
	changed := services
	changed.Status = true
	for _, now := range []Kind{services, changed} {
		over := false
		w := &watch{key: watchKey{services.GVK, "", primaryRole}}
		w.cached.Store(&cached{kind: services, over: func() { over = true }})
		ws := &watches{log: slog.New(slog.DiscardHandler), kinds: oneKind{kind: now}}
		if err := ws.relearnConditions(t.Context(), w); err != nil {
			t.Error(err)
		}
		if over != (now == changed) {
			t.Errorf("followed anew: %t, and the kind is another one: %t", over, now == changed)
		}
	}
}
