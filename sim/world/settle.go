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
	for requests := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.show(); err != nil {
			return err
		}
		w.queue.wake()
		switch {
		case w.stepper.Serve(ctx):
			if requests++; requests%100 == 0 || requests > mostRequests {
				if err := w.restless(before, requests, began); err != nil {
					return err
				}
			}
		case w.cluster.Collect():
		case w.sleep(until):
			w.stepper.CleanUp(ctx)
		default:
			known := w.cluster.ChangeCount()
			if w.stepper.CleanUp(ctx); w.cluster.ChangeCount() == known {
				return nil
			}
		}
	}
}

// show delivers changes to the controller.
func (w *World) show() error {
	for _, c := range w.cluster.Changes(w.shown) {
		w.shown++
		if err := w.stepper.Observe(c.Old, c.New, c.Version); err != nil {
			return err
		}
	}
	return nil
}

// sleep moves the clock to the next due request. It returns false if that is too late.
func (w *World) sleep(until time.Time) bool {
	due, ok := w.queue.next()
	if !ok || due.After(until) {
		return false
	}
	w.clock.SetTime(due)
	return true
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
