package engine

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Stepper is an engine of which nothing runs by itself: everything happens in
// the call that asks for it. It is for tests of rules, in surroundings where
// time and the order of things are somebody's choice. All that follows from an
// event is done by the same code as in a process.
type Stepper struct {
	engine  *Engine
	feeds   []*watch.Feed
	removed []inventory.RemovedRule // of which something is left
}

// A Snapshot is what a cluster holds at a resourceVersion. The objects are not
// changed.
type Snapshot struct {
	Objects []*unstructured.Unstructured
	Version string
}

// NewStepper makes a stepper; Follow comes next. Of the options Config is not
// used.
func NewStepper(s Dependencies, options Options) *Stepper {
	return &Stepper{engine: newEngine(s, options.withDefaults(), nil)}
}

// Follow does what a process does when it starts, and again when its rules are
// replaced by others. Kinds that do not exist by now never will.
func (s *Stepper) Follow(ctx context.Context, program *rules.Program, now Snapshot) error {
	e := s.engine
	orphaned, err := e.inventory.Compare(ctx, program)
	if err != nil {
		return err
	}
	var running []*watch.Watch
	for _, f := range s.feeds {
		running = append(running, f.Watch)
	}
	pl := e.route(newPlan(program, orphaned, running))
	for _, w := range pl.watches {
		if !slices.Contains(running, w) {
			if err := s.feed(ctx, w, now.list); err != nil {
				return err
			}
		}
	}
	if err := e.settle(ctx, pl, nil); err != nil {
		return err
	}
	e.follow(pl)
	s.feeds = slices.DeleteFunc(s.feeds, func(f *watch.Feed) bool { return !slices.Contains(pl.watches, f.Watch) })
	e.forgetOthers(pl)
	return s.startCleanup(ctx, pl)
}

// startCleanup does once what a process tries until it succeeds.
func (s *Stepper) startCleanup(ctx context.Context, pl *plan) error {
	e := s.engine
	for _, stale := range pl.orphaned.Finalizers {
		if err := e.removeOrphanedFinalizer(ctx, stale); err != nil {
			return err
		}
		if err := e.inventory.RemoveFinalizer(ctx, stale); err != nil {
			return err
		}
	}
	s.removed = pl.orphaned.Removed
	s.tryDeleteRemovedRule(ctx)
	for _, primary := range pl.primaries {
		if primary.mayHaveDeselected() {
			if err := e.enqueueDeselected(ctx, primary); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the snapshot itself: a feed takes from it what its watch selects.
func (now Snapshot) list(context.Context, discover.Kind) (Snapshot, error) { return now, nil }

// feed gives a watch its cache, unless there is no such kind.
func (s *Stepper) feed(ctx context.Context, w *watch.Watch, list func(context.Context, discover.Kind) (Snapshot, error)) error {
	scope := s.engine.scope()
	k, err := s.engine.kinds.Find(ctx, w.GVK)
	if err == nil {
		err = k.CheckScope(scope)
	}
	if discover.IsUnwatchable(err) {
		w.Fail(err)
		return nil
	}
	if err != nil {
		return err
	}
	conditions := discover.NoConditions
	if w.GetsConditions() {
		if conditions, err = s.engine.kinds.Conditions(ctx, k.GVK); err != nil {
			return fmt.Errorf("conditions of %s: %w", k.GVK.Kind, err)
		}
	}
	now, err := list(ctx, k)
	if err != nil {
		return err
	}
	f, err := watch.NewFeed(w, k, conditions, scope, now.Objects, now.Version)
	if err == nil {
		s.feeds = append(s.feeds, f)
	}
	return err
}

// Observe shows one change of an object to the watches that it concerns: now is
// nil where it was deleted. The version is the cluster's at that time. Neither
// object is changed.
func (s *Stepper) Observe(old, now *unstructured.Unstructured, version string) error {
	for _, f := range s.feeds {
		if err := f.Observe(old, now, version); err != nil {
			return err
		}
	}
	return nil
}

// Serve serves the next request that is due, and reports whether there was one.
func (s *Stepper) Serve(ctx context.Context) bool {
	return s.engine.queue.Len() > 0 && s.engine.serveNext(ctx)
}

// Tidy does what a process does from time to time beside its work.
func (s *Stepper) Tidy(ctx context.Context) {
	s.engine.removeUnusedKinds(ctx, s.engine.plan.Load())
	s.tryDeleteRemovedRule(ctx)
}

// tryDeleteRemovedRule takes away once what removed rules have left.
func (s *Stepper) tryDeleteRemovedRule(ctx context.Context) {
	s.removed = slices.DeleteFunc(slices.Clone(s.removed), func(r inventory.RemovedRule) bool {
		done, _ := s.engine.tryDeleteRemovedRule(ctx, s.engine.plan.Load(), r)
		return done
	})
}
