package world

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// patience is how long Settle lets time pass: long enough for quick retries, and for the half second
// after which a status reports progress.
const patience = 2 * time.Second

// Rules that come to rest stay well below these limits.
const (
	mostRequests = 100_000
	mostWrites   = 30 // of one object, with an effect
)

// Settle runs the controller and the garbage collector until they have nothing left to do within two
// seconds. The clock moves only as far as something is due. Longer delays remain.
func (w *World) Settle(ctx context.Context) error {
	return w.work(ctx, w.clock.Now().Add(patience))
}

// Advance lets time pass, in which everything is done when it is due, and settles.
func (w *World) Advance(ctx context.Context, d time.Duration) error {
	then := w.clock.Now().Add(d)
	if err := w.work(ctx, then); err != nil {
		return err
	}
	w.clock.SetTime(then)
	return w.Settle(ctx)
}

// work does all that is due until a time.
func (w *World) work(ctx context.Context, until time.Time) error {
	before, began := len(w.cluster.Writes()), w.clock.Now()
	tidy := -1 // the number of changes after which a cleanup changed nothing
	for requests := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.show(); err != nil {
			return err
		}
		for _, c := range w.all() {
			c.queue.Wake()
		}
		switch {
		case w.serveNext(ctx):
			if requests++; requests%100 == 0 || requests > mostRequests {
				if err := w.restless(before, requests, began); err != nil {
					return err
				}
			}
		case w.cluster.Collect():
		case w.sleep(until):
			if _, err := w.cleanUp(ctx); err != nil {
				return err
			}
		default:
			known := w.cluster.ChangeCount()
			if known == tidy {
				return nil
			}
			moved, err := w.cleanUp(ctx)
			if err != nil {
				return err
			}
			if !moved && w.cluster.ChangeCount() == known {
				tidy = known // What it enqueued is still to do.
			}
		}
	}
}

// show delivers changes to the controller.
func (w *World) show() error {
	for _, c := range w.cluster.Changes(w.shown) {
		w.shown++
		for _, controller := range w.all() {
			if err := controller.stepper.Observe(c.Old, c.New, c.Version); err != nil {
				return err
			}
		}
	}
	return nil
}

// sleep moves the clock to the next due request, or the end of the next finished Job. It returns false if
// that is too late.
func (w *World) sleep(until time.Time) bool {
	first := w.cluster.NextExpiry()
	for _, c := range w.all() {
		if due, ok := c.queue.Next(); ok && (first.IsZero() || due.Before(first)) {
			first = due
		}
	}
	if first.IsZero() || first.After(until) {
		return false
	}
	w.clock.SetTime(first)
	return true
}

// all returns the dry runs and the controller, in the order in which they work.
func (w *World) all() []controller {
	return append(w.dryRuns[:len(w.dryRuns):len(w.dryRuns)], w.controller)
}

// cleanUp runs the periodic cleanups, and reports whether they are more work than before: rules
// that were approved, or the next part of a rollout.
func (w *World) cleanUp(ctx context.Context) (moved bool, err error) {
	for _, c := range w.all() {
		before := len(w.cluster.Writes())
		program, err := c.stepper.CleanUp(ctx)
		if err == nil && program != nil {
			err = w.follow(ctx, c, program)
		}
		if err != nil {
			return false, err
		}
		moved = moved || program != nil || len(w.cluster.Writes()) > before
	}
	return moved, nil
}

// serveNext has one of them reconcile, and reports whether there was anything to do.
func (w *World) serveNext(ctx context.Context) bool {
	all := w.all()
	first := w.options.Turn(len(all))
	for i := range all {
		if all[(first+i)%len(all)].stepper.Serve(ctx) {
			return true
		}
	}
	return false
}

// restless returns an error if the controller seems to work forever.
func (w *World) restless(before, requests int, began time.Time) error {
	count := map[string]int{}
	for _, write := range w.cluster.Writes()[before:] {
		if write.By != Controller || !write.Changed {
			continue
		}
		object := strings.Trim(write.Kind.Kind+"/"+write.Namespace+"/"+write.Name, "/")
		if write.Subresource != "" {
			object += " (" + write.Subresource + ")"
		}
		if count[object]++; count[object] > mostWrites {
			return fmt.Errorf("the controller does not converge: %s was written %d times", object, count[object])
		}
	}
	if requests > mostRequests {
		if passed := w.clock.Now().Sub(began); passed > patience {
			return fmt.Errorf("%d reconciliations within %s: let less time pass, or make requeueAfter longer", requests, passed)
		}
		return fmt.Errorf("the controller does not converge after %d reconciliations", requests)
	}
	return nil
}
