package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// A reload asks for another program.
type reload struct {
	program *rules.Program
	done    chan error
}

// Reload puts a program in the place of the one that Run follows, while Run
// goes on. The kinds that it needs anew are listed first; then every primary is
// looked at by the new rules, and what only the old ones needed is let go. A
// look that is under way ends by the rules by which it began.
//
// A rule that is gone leaves what it has made, or takes it along if it said so,
// and its finalizers are taken off. A rule that has changed takes away what it does not render any more.
//
// It waits for Run to be at work, and returns when the new rules are followed.
// After an error the old ones are, unless ctx has ended in the middle of it:
// then the new ones may be a little later.
func (e *Engine) Reload(ctx context.Context, program *rules.Program) error {
	r := reload{program, make(chan error, 1)}
	select {
	case e.reloads <- r:
	case <-e.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errEnded = errors.New("the engine has stopped, no rules are active")

func (e *Engine) reloadWhenAsked(ctx context.Context) {
	for {
		select {
		case r := <-e.reloads:
			r.done <- e.reload(ctx, r.program)
		case <-ctx.Done():
			return
		}
	}
}

// reloadPatience is how long a new kind may take to be listed before its rules
// are left waiting, so that it does not hold up the others.
const reloadPatience = 10 * time.Second

func (e *Engine) reload(ctx context.Context, program *rules.Program) error {
	if err := e.replace(ctx, program); err != nil {
		return err
	}
	pl := e.plan.Load()
	if e.leading {
		e.startCleanup(ctx, pl)
	}
	e.log.Debug("active rules replaced", "rules", pl.rules(), "watches", len(pl.watches))
	return nil
}

// replace puts a plan for a program in the place of the one that is active.
func (e *Engine) replace(ctx context.Context, program *rules.Program) error {
	orphaned, err := e.inventory.Compare(ctx, program)
	if err != nil {
		return err
	}
	old := e.plan.Load()
	next := e.route(newPlan(program, orphaned, old.watches))
	var fresh []*watch.Watch
	for _, w := range next.watches {
		if !slices.Contains(old.watches, w) {
			fresh = append(fresh, w)
			e.watcher.Start(ctx, w)
		}
	}
	if err := e.awaitFresh(ctx, fresh); err != nil {
		return err
	}
	if e.leading {
		if err := e.settle(ctx, next, old); err != nil {
			for _, w := range fresh {
				w.Stop()
			}
			return err
		}
	}
	old.stop()
	e.follow(next)
	if !e.retire(ctx, old) {
		return ctx.Err()
	}
	return nil
}

// awaitFresh gives new watches time to be listed. A kind that may not be read is
// not waited for: that takes somebody to change it.
func (e *Engine) awaitFresh(ctx context.Context, fresh []*watch.Watch) error {
	listed := func(context.Context) (bool, error) { return !slices.ContainsFunc(fresh, (*watch.Watch).Pending), nil }
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, reloadPatience, true, listed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if missing := unsettled(fresh); err != nil || len(missing) > 0 {
		e.log.Log(ctx, missingLevel(fresh), "rules reloaded, some kinds are unavailable", "missing", missing)
	}
	return nil
}

// follow makes a plan the one by which everything is looked at, and asks for
// that look.
func (e *Engine) follow(pl *plan) {
	e.plan.Store(pl)
	enqueueShown(pl.watches)
}

// retire lets go of what only a plan that is not followed any more needs, as
// soon as the last pass by it has ended. It returns false if ctx has ended
// before: everything stops then.
func (e *Engine) retire(ctx context.Context, old *plan) bool {
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		return old.passes.Load() == 0, nil
	})
	if err != nil {
		return false
	}
	next := e.plan.Load()
	for _, w := range old.watches {
		if !slices.Contains(next.watches, w) {
			w.Stop()
		}
	}
	e.forgetOthers(next)
	return true
}

// forgetOthers forgets the primaries of kinds that a plan does not have.
func (e *Engine) forgetOthers(pl *plan) {
	e.memories.forgetKinds(func(gk schema.GroupKind) bool { return pl.primaries[gk] == nil })
}
