package watch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/test/e2e"
)

var services = discover.Kind{
	GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Namespaced: true,
}

// silent returns a watch whose events are ignored.
func silent(key Key) *Watch {
	w := New(key, rules.VisibleToRules())
	w.Notify(func(*Object) {}, func() {})
	return w
}

// TestConditionsOfBuiltInKindsAreKnownFromTheStart checks what is known when
// reconciliations begin. They are not read again later.
func TestConditionsOfBuiltInKindsAreKnownFromTheStart(t *testing.T) {
	k := services
	served := e2e.Served{List: func(string) ([]string, error) { return []string{`{"metadata":{"name":"a","namespace":"b"}}`}, nil }}
	ws := &Watcher{Client: served.Client(t), Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	w := New(Key{GVK: k.GVK}, rules.VisibleToRules())
	known := false
	w.Notify(func(*Object) {}, func() {
		_, known = w.cache.Load().Conditions()
		cancel()
	})
	ws.keep(ctx, w, k)
	if !known {
		t.Error("they are not known when the cache is filled")
	}
}

// unpublished are kinds without schemas.
type unpublished struct{ discover.Kinds }

func (unpublished) Ownership(_ context.Context, gvk schema.GroupVersionKind) (discover.Ownership, error) {
	return discover.Ownership{}, discover.NoKindError{GVK: gvk}
}

// oneKind is the kind that an API server tells of.
type oneKind struct {
	unpublished
	kind discover.Kind
}

func (o oneKind) Find(context.Context, schema.GroupVersionKind) (discover.Kind, error) {
	return o.kind, nil
}

// TestAnnouncedKindThatIsNotServed has one part of an API server still tell of a
// kind that another one does not serve any more.
func TestAnnouncedKindThatIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := services
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		const most = 50
		var lists atomic.Int64
		served := e2e.Served{List: func(string) ([]string, error) {
			if lists.Add(1) > most {
				cancel()
			}
			return nil, apierrors.NewNotFound(k.GVR.GroupResource(), "")
		}}
		ws := &Watcher{Client: served.Client(t), Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: k}, Waiter: &discover.Waiter{}}
		ws.Start(ctx, silent(Key{GVK: k.GVK}))
		ws.Wait()
		if n := lists.Load(); n > most {
			t.Errorf("it was listed %d times within 10 s", n)
		}
	})
}

// TestChangedKindIsWatchedAgain has a kind get the status subresource.
func TestChangedKindIsWatchedAgain(t *testing.T) {
	changed := services
	changed.Status = true
	for _, now := range []discover.Kind{services, changed} {
		over := false
		w := New(Key{GVK: services.GVK}, rules.VisibleToRules())
		w.cache.Store(&Cache{kind: services, end: func() { over = true }})
		ws := &Watcher{Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: now}}
		if _, err := ws.relearnOwnership(t.Context(), w); err != nil {
			t.Error(err)
		}
		if over != (now == changed) {
			t.Errorf("watched again: %t, and the kind has changed: %t", over, now == changed)
		}
	}
}
