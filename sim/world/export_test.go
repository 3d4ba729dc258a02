package world

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// ServeSeen delivers the pending changes to the watches and serves the queue. It does not
// deliver the changes that follow.
func (w *World) ServeSeen(ctx context.Context) error {
	if err := w.show(); err != nil {
		return err
	}
	w.serve(ctx)
	return nil
}

// FollowUnseen replaces the rules before the watches deliver more changes.
func (w *World) FollowUnseen(ctx context.Context, program *rules.Program) error {
	w.options.Program = program
	if err := w.follow(ctx, w.controller, w.options.Program); err != nil {
		return err
	}
	w.serve(ctx)
	return nil
}

// RestartWith is Restart with other rules.
func (w *World) RestartWith(ctx context.Context, program *rules.Program) error {
	w.options.Program = program
	return w.Restart(ctx)
}

func (w *World) serve(ctx context.Context) {
	w.queue.Wake()
	for w.stepper.Serve(ctx) {
	}
}

// Wrap wraps the client of later controllers.
func (w *World) Wrap(client func(dynamic.Interface) dynamic.Interface) {
	w.client = client(w.cluster.Client(Controller))
}

// Pass lets time pass while something else is going on.
func (w *World) Pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// Unserve makes kinds unavailable to later controllers, as those of an aggregated API whose server does not answer, until
// serve is called.
func (w *World) Unserve(down ...schema.GroupKind) (serve func()) {
	ks := &unserved{kinds{w.options.Kinds}, down, nil}
	w.kinds = ks
	return func() { ks.down = nil }
}

// Drop stops to serve versions of kinds to later controllers.
func (w *World) Drop(versions ...schema.GroupVersionKind) {
	w.kinds = &unserved{kinds{w.options.Kinds}, nil, versions}
}

type unserved struct {
	kinds
	down    []schema.GroupKind
	dropped []schema.GroupVersionKind
}

func (ks *unserved) Find(ctx context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	if slices.Contains(ks.down, gvk.GroupKind()) {
		return discover.Kind{}, discover.UnavailableError{GV: gvk.GroupVersion(), Err: errors.New("the server is unavailable")}
	}
	if slices.Contains(ks.dropped, gvk) {
		return discover.Kind{}, discover.NoKindError{GVK: gvk}
	}
	return ks.kinds.Find(ctx, gvk)
}

// Uninstall removes an installation of systemNamespace from the cluster.
func (w *World) Uninstall(ctx context.Context, name string, what engine.Uninstallation) error {
	return engine.UninstallWith(ctx, engine.Dependencies{Client: w.client, Kinds: w.kinds, Events: w.cluster, Clock: w.clock,
		Queue: NewQueue(w.clock), Random: evenly, InFlight: 1},
		access.Options{Log: w.options.Log, Namespace: systemNamespace, Name: name}, what)
}
