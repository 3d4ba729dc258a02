package world

import (
	"context"

	"k8s.io/client-go/dynamic"

	"reconcel/rules"
)

// ServeSeen shows the watches what has happened, and has done what is to be done
// about it. What follows from that is not shown.
func (w *World) ServeSeen(ctx context.Context) error {
	if err := w.show(); err != nil {
		return err
	}
	w.serve(ctx)
	return nil
}

// FollowUnseen has other rules followed before the watches show anything more.
func (w *World) FollowUnseen(ctx context.Context, program *rules.Program) error {
	w.options.Program = program
	if err := w.follow(ctx); err != nil {
		return err
	}
	w.serve(ctx)
	return nil
}

func (w *World) serve(ctx context.Context) {
	w.queue.wake()
	for w.stepper.Serve(ctx) {
	}
}

// Wrap puts something between the next controllers and the cluster.
func (w *World) Wrap(client func(dynamic.Interface) dynamic.Interface) {
	w.client = client(w.cluster.Client(Controller))
}
