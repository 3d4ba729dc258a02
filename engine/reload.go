package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/access"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Reload replaces the active rules while Run continues. It first lists the kinds
// that only the new rules need. Then it reconciles the primaries of changed rules and
// stops the watches that only the old rules needed. A running reconciliation finishes
// with the rules that it started with.
//
// The objects of a removed rule stay, or are deleted if the rule says so. Its
// finalizers are removed. A changed rule prunes the objects that it no longer
// renders.
//
// Reload waits until Run has started, and returns when the new rules are active.
// After an error the old rules stay active. If ctx ends during the reload, the new
// rules may still become active later.
func (e *Engine) Reload(ctx context.Context, program *rules.Program) error {
	r := access.Reload{Program: program, Done: make(chan error, 1)}
	select {
	case e.Reloads <- r:
	case <-e.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.Done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errEnded = errors.New("the engine has stopped, no rules are active")

func (e *Engine) reloadWhenAsked(ctx context.Context) {
	for {
		select {
		case r := <-e.Reloads:
			r.Done <- e.reload(ctx, r.Program)
		case <-ctx.Done():
			return
		}
	}
}

// reloadPatience is how long a reload waits for the first list of a new kind.
// After that, only the rules of that kind wait, and the others become active.
const reloadPatience = 10 * time.Second

func (e *Engine) reload(ctx context.Context, program *rules.Program) error {
	if err := e.replace(ctx, program); err != nil {
		return err
	}
	pl := e.Plan.Load()
	if e.leading {
		e.startCleanup(ctx, pl)
	}
	e.Log.Debug("active rules replaced", "rules", pl.Rules(), "watches", len(pl.Watches))
	return nil
}

// replace replaces the active plan by a plan for the program.
func (e *Engine) replace(ctx context.Context, program *rules.Program) error {
	orphaned, err := e.Cluster.Orphaned(ctx, program)
	if err != nil {
		return err
	}
	old := e.Plan.Load()
	next := plan.NewPlan(e.Options.Namespace, plan.AllActive(program), orphaned, old.Watches)
	if err := e.startFresh(ctx, next, old.Watches); err != nil {
		return err
	}
	if e.leading {
		admitted, err := e.Admission.Admit(ctx, next, old, e.startFresh)
		next.StopOthers(admitted, old)
		if err != nil {
			return err
		}
		next = admitted
	}
	old.Stop()
	e.Router.Follow(old, next)
	if !e.retire(ctx, old) {
		return ctx.Err()
	}
	return nil
}

// awaitFresh waits for the first list of new watches.
func (e *Engine) awaitFresh(ctx context.Context, fresh []*watch.Watch) error {
	began := e.Clock.Now()
	listed := func(context.Context) (bool, error) { return !pending(fresh, e.Clock.Since(began)), nil }
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, reloadPatience, true, listed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if missing := unsettled(fresh); err != nil || len(missing) > 0 {
		e.Log.Log(ctx, missingLevel(fresh), "rules reloaded, some kinds are unavailable", "missing", missing)
	}
	return nil
}

// tellAfter is how long a reload waits for reconciliations before it says so.
const tellAfter = 5 * time.Second

// retire stops the watches that only a replaced plan needs, as soon as its last
// reconciliation has ended. It returns false if ctx ends first; then the whole
// engine stops.
func (e *Engine) retire(ctx context.Context, old *plan.Plan) bool {
	telling := time.NewTimer(tellAfter)
	defer telling.Stop()
	defer e.retiring.Store(nil)
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		names := old.InProgress()
		if len(names) == 0 {
			return true, nil
		}
		select {
		case <-telling.C:
			e.retiring.Store(old)
			e.Log.Info("reload waits for reconciliations in progress", "objects", names)
		default:
		}
		return false, nil
	})
	if err != nil {
		return false
	}
	next := e.Plan.Load()
	for _, w := range old.Watches {
		if !slices.Contains(next.Watches, w) {
			w.Stop()
		}
	}
	e.ForgetOthers(next)
	return true
}

// ForgetOthers forgets the primaries of kinds that a plan does not have.
func (e *Engine) ForgetOthers(pl *plan.Plan) {
	e.Memories.ForgetKinds(func(gk schema.GroupKind) bool { return pl.Primaries[gk] == nil })
}

// startFresh starts the watches of a plan that do not run yet, and waits for their first list.
func (e *Engine) startFresh(ctx context.Context, pl *plan.Plan, running []*watch.Watch) error {
	e.Router.Route(pl)
	var fresh []*watch.Watch
	for _, w := range pl.Watches {
		if !slices.Contains(running, w) {
			fresh = append(fresh, w)
			e.watcher.Start(ctx, w)
		}
	}
	return e.awaitFresh(ctx, fresh)
}
