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
	kindschema "reconcel/rules/schema"
)

// A Stepper is an engine without background work: everything happens in the
// call that asks for it. It is for tests of rules that control time and the order
// of events. It handles each event with the same code as a process.
type Stepper struct {
	engine  *Engine
	feeds   []*watch.Feed
	removed []inventory.RemovedRule // rules with objects left to delete
}

// A Snapshot has the objects of a cluster at a resourceVersion. The Stepper does
// not change them.
type Snapshot struct {
	Objects []*unstructured.Unstructured
	Version string
	// Numbers are the number fields of the kinds of the program.
	Numbers kindschema.NumberFields
}

// NewStepper returns a Stepper. Call Follow next. Options.Config is not used.
func NewStepper(s Dependencies, options Options) *Stepper {
	return &Stepper{engine: newEngine(s, options.withDefaults(), nil)}
}

// Follow activates a program: the first call is the start of a process, and
// each later call a reload. Unlike a process, it does not wait for kinds that do
// not exist yet.
func (s *Stepper) Follow(ctx context.Context, program *rules.Program, now Snapshot) error {
	e := s.engine
	e.numbers.Store(&now.Numbers)
	orphaned, err := e.inventory.Compare(ctx, program)
	if err != nil {
		return err
	}
	var running []*watch.Watch
	for _, f := range s.feeds {
		running = append(running, f.Watch)
	}
	pl := newPlan(e.options.Namespace, settledIn(program), orphaned, running)
	start := func(ctx context.Context, pl *plan, running []*watch.Watch) error {
		return s.start(ctx, pl, running, now.list)
	}
	if err := start(ctx, pl, running); err != nil {
		return err
	}
	old := e.plan.Load()
	if pl, err = e.admit(ctx, pl, old, start); err != nil {
		return err
	}
	e.follow(old, pl)
	s.feeds = slices.DeleteFunc(s.feeds, func(f *watch.Feed) bool { return !slices.Contains(pl.watches, f.Watch) })
	e.forgetOthers(pl)
	return s.startCleanup(ctx, pl)
}

// start feeds the watches of a plan that are not fed yet.
func (s *Stepper) start(ctx context.Context, pl *plan, running []*watch.Watch, list func(context.Context, discover.Kind) watch.List) error {
	s.engine.route(pl)
	for _, w := range pl.watches {
		if !slices.Contains(running, w) {
			if err := s.feed(ctx, w, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// startCleanup makes one attempt at the cleanup that a process retries until it
// succeeds.
func (s *Stepper) startCleanup(ctx context.Context, pl *plan) error {
	e := s.engine
	e.reportHolds(pl)
	if e.dryRun != nil {
		e.tryForesee(ctx, pl)
		return nil
	}
	for _, orphaned := range pl.orphaned.Finalizers {
		if err := e.removeMarks(ctx, pl, orphaned); err != nil && !discover.IsNoKind(err) {
			return err
		}
	}
	s.removed = pl.orphaned.Removed
	s.tryDeleteRemovedRule(ctx)
	for _, primary := range pl.primaries {
		if primary.mayHaveDeselected() {
			if err := e.enqueueDeselected(ctx, primary); err != nil && !discover.IsNoKind(err) {
				return err
			}
		}
	}
	return nil
}

// list lists the whole snapshot. The feed filters it with its watch's selector.
func (now Snapshot) list(context.Context, discover.Kind) watch.List { return now.each }

// each is a watch.List.
func (now Snapshot) each(visit func(*unstructured.Unstructured) error) (version string, err error) {
	for _, u := range now.Objects {
		if err := visit(u); err != nil {
			return "", err
		}
	}
	return now.Version, nil
}

// feed fills the cache of a watch, unless its kind does not exist or is unavailable.
func (s *Stepper) feed(ctx context.Context, w *watch.Watch, list func(context.Context, discover.Kind) watch.List) error {
	scope := w.ScopeIn(s.engine.scope())
	k, err := s.engine.kinds.Find(ctx, w.GVK)
	if err == nil {
		err = k.CheckScope(scope)
	}
	if discover.IsUnwatchable(err) || discover.IsUnavailable(err) {
		w.Fail(err)
		return nil
	}
	if err != nil {
		return err
	}
	ownership := discover.Ownership{}
	if w.IsCustom() {
		ownership, err = s.engine.kinds.Ownership(ctx, k.GVK)
		if discover.IsUnavailable(err) {
			w.Fail(err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("schema of %s: %w", k.GVK.Kind, err)
		}
	}
	f, err := watch.NewFeed(w, k, ownership, scope, list(ctx, k))
	if err == nil {
		s.feeds = append(s.feeds, f)
	}
	return err
}

// Observe sends one change of an object to the matching watches. now is nil for a
// deletion. version is the cluster's resourceVersion at that time. Observe does
// not change the objects.
func (s *Stepper) Observe(old, now *unstructured.Unstructured, version string) error {
	for _, f := range s.feeds {
		if err := f.Observe(old, now, version); err != nil {
			return err
		}
	}
	return nil
}

// Serve reconciles the next request in the queue and reports whether there was
// one.
func (s *Stepper) Serve(ctx context.Context) bool {
	return s.engine.queue.Len() > 0 && s.engine.serveNext(ctx)
}

// CleanUp runs the periodic cleanup of a process once, and continues what waits for approval
// or for primaries. It returns the rules if they must be followed again.
func (s *Stepper) CleanUp(ctx context.Context) (*rules.Program, error) {
	pl := s.engine.plan.Load()
	if s.engine.dryRun != nil {
		s.engine.tryForesee(ctx, pl)
	} else {
		s.engine.removeUnusedKinds(ctx, pl)
		s.tryDeleteRemovedRule(ctx)
	}
	if again, err := s.engine.decidePending(ctx, pl); err != nil || !again {
		return nil, err
	}
	return pl.loaded, nil
}

// tryDeleteRemovedRule makes one attempt to delete the objects of removed rules.
func (s *Stepper) tryDeleteRemovedRule(ctx context.Context) {
	s.removed = slices.DeleteFunc(slices.Clone(s.removed), func(r inventory.RemovedRule) bool {
		done, _ := s.engine.tryDeleteRemovedRule(ctx, s.engine.plan.Load(), r)
		return done
	})
}
