package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/engine/cleanup"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Stepper is an engine without background work: everything happens in the
// call that asks for it. It is for tests of rules that control time and the order
// of events. It handles each event with the same code as a process.
type Stepper struct {
	engine  *engine.Engine
	feeds   []*watch.Feed
	removed []inventory.RemovedRule // rules with objects left to delete
	marked  []inventory.Finalizer   // removed rules with marks left on primaries
}

// NewStepper returns a Stepper. Call Follow next. Options.Config is not used.
func NewStepper(s engine.Dependencies, options access.Options) *Stepper {
	return &Stepper{engine: engine.NewEngine(s, options.WithDefaults(), nil)}
}

// Follow activates a program: the first call is the start of a process, and
// each later call a reload. Unlike a process, it does not wait for kinds that do
// not exist yet.
func (s *Stepper) Follow(ctx context.Context, program *rules.Program, now engine.Snapshot) error {
	e := s.engine
	e.Numbers.Store(&now.Numbers)
	orphaned, err := e.Cluster.Orphaned(ctx, program)
	if err != nil {
		return err
	}
	var running []*watch.Watch
	for _, f := range s.feeds {
		running = append(running, f.Watch)
	}
	pl := plan.NewPlan(e.Options.Namespace, plan.AllActive(program), orphaned, running)
	start := func(ctx context.Context, pl *plan.Plan, running []*watch.Watch) error {
		return s.start(ctx, pl, running, now.List)
	}
	if err := start(ctx, pl, running); err != nil {
		return err
	}
	old := e.Plan.Load()
	if pl, err = e.Admission.Admit(ctx, pl, old, start); err != nil {
		return err
	}
	e.Router.Follow(old, pl)
	s.feeds = slices.DeleteFunc(s.feeds, func(f *watch.Feed) bool { return !slices.Contains(pl.Watches, f.Watch) })
	e.ForgetOthers(pl)
	return s.startCleanup(ctx, pl)
}

// start feeds the watches of a plan that are not fed yet.
func (s *Stepper) start(ctx context.Context, pl *plan.Plan, running []*watch.Watch,
	list func(context.Context, discover.Kind) watch.List) error {
	s.engine.Router.Route(pl)
	for _, w := range pl.Watches {
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
func (s *Stepper) startCleanup(ctx context.Context, pl *plan.Plan) error {
	e := s.engine
	e.Cleanup.ReportHolds(pl)
	if e.DryRun != nil {
		e.Cleanup.TryForesee(ctx, pl)
		return nil
	}
	s.marked = pl.Orphaned.Finalizers
	if err := s.tryRemoveMarks(ctx); err != nil {
		return err
	}
	s.removed = pl.Orphaned.Removed
	s.tryDeleteRemovedRule(ctx)
	for _, primary := range pl.Primaries {
		if primary.MayHaveDeselected() {
			if err := e.Router.EnqueueDeselected(ctx, primary); err != nil && !discover.IsNoKind(err) {
				return err
			}
		}
	}
	return nil
}

// feed fills the cache of a watch, unless its kind does not exist or is unavailable.
func (s *Stepper) feed(ctx context.Context, w *watch.Watch,
	list func(context.Context, discover.Kind) watch.List) error {
	scope := w.ScopeIn(s.engine.Cluster.Scope())
	k, err := s.engine.Kinds.Find(ctx, w.GVK)
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
		ownership, err = s.engine.Kinds.Ownership(ctx, k.GVK)
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
	return s.engine.Queue.Len() > 0 && s.engine.Workers.ServeNext(ctx)
}

// CleanUp runs the periodic cleanup of a process once, and continues what waits for approval
// or for primaries. It returns the rules if they must be followed again.
func (s *Stepper) CleanUp(ctx context.Context) (*rules.Program, error) {
	pl := s.engine.Plan.Load()
	if s.engine.DryRun != nil {
		s.engine.Cleanup.TryForesee(ctx, pl)
	} else {
		_ = s.engine.Cleanup.RemoveUnusedKinds(ctx, pl) // It logs its error, and the next cleanup tries it again.
		if err := s.tryRemoveMarks(ctx); err != nil {
			return nil, err
		}
		s.tryDeleteRemovedRule(ctx)
	}
	if again, err := s.engine.Rollouts.DecidePending(ctx, pl); err != nil || !again {
		return nil, err
	}
	return pl.Loaded, nil
}

// tryRemoveMarks makes one attempt to remove the marks of removed rules. Those of paused primaries stay for now.
func (s *Stepper) tryRemoveMarks(ctx context.Context) (problem error) {
	s.marked = slices.DeleteFunc(slices.Clone(s.marked), func(f inventory.Finalizer) bool {
		err := s.engine.Cleanup.RemoveMarks(ctx, s.engine.Plan.Load(), f)
		if errors.Is(err, cleanup.ErrPaused) {
			return false
		}
		if err != nil && !discover.IsNoKind(err) {
			problem = err
		}
		return true
	})
	return problem
}

// tryDeleteRemovedRule makes one attempt to delete the objects of removed rules.
func (s *Stepper) tryDeleteRemovedRule(ctx context.Context) {
	s.removed = slices.DeleteFunc(slices.Clone(s.removed), func(r inventory.RemovedRule) bool {
		done, _ := s.engine.Cleanup.TryDeleteRemovedRule(ctx, s.engine.Plan.Load(), r)
		return done
	})
}
