package engine

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// A Stepper is an engine of which nothing runs by itself: everything happens in
// the call that asks for it. It is for tests of rules, in surroundings where
// time and the order of things are somebody's choice. All that follows from an
// event is done by the same code as in a process.
type Stepper struct {
	engine  *Engine
	views   []*view
	removed []inventory.RemovedRule // of which something is left
}

// A view is a watch whose events are handed in.
type view struct {
	*watch
	shows    *cached
	selector labels.Selector
}

// A Snapshot is what a cluster holds at a resourceVersion. The objects are not
// changed.
type Snapshot struct {
	Objects []*unstructured.Unstructured
	Version string
}

// NewStepper makes a stepper; Follow comes next. Of the options Config is not
// used.
func NewStepper(s Surroundings, options Options) *Stepper {
	return &Stepper{engine: newEngine(s, options.withDefaults(), nil)}
}

// Follow does what a process does when it starts, and again when its rules are
// replaced by others. discover.Kinds that do not exist by now never will.
func (s *Stepper) Follow(ctx context.Context, program *rules.Program, now Snapshot) error {
	e := s.engine
	orphaned, err := e.inventory.Compare(ctx, program)
	if err != nil {
		return err
	}
	var running []*watch
	for _, v := range s.views {
		running = append(running, v.watch)
	}
	pl := e.route(newPlan(program, orphaned, running))
	for _, w := range pl.watches {
		if !slices.Contains(running, w) {
			if err := s.view(ctx, w, now.list); err != nil {
				return err
			}
		}
	}
	if err := e.settle(ctx, pl, nil); err != nil {
		return err
	}
	e.follow(pl)
	s.views = slices.DeleteFunc(s.views, func(v *view) bool { return !slices.Contains(pl.watches, v.watch) })
	e.forgetOthers(pl)
	return s.keepHouse(ctx, pl)
}

// keepHouse does once what a process tries until it succeeds.
func (s *Stepper) keepHouse(ctx context.Context, pl *plan) error {
	e := s.engine
	for _, stale := range pl.orphaned.Finalizers {
		if err := e.sweepFinalizer(ctx, stale); err != nil {
			return err
		}
		if err := e.inventory.RemoveFinalizer(ctx, stale); err != nil {
			return err
		}
	}
	s.removed = pl.orphaned.Removed
	s.clearRemoved(ctx)
	for _, primary := range pl.primaries {
		if primary.mayHaveLeavers() {
			if err := e.enqueueLeavers(ctx, primary); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the snapshot itself: a view takes from it what it shows.
func (now Snapshot) list(context.Context, Kind) (Snapshot, error) { return now, nil }

// view gives a watch its cache, unless there is no such kind.
func (s *Stepper) view(ctx context.Context, w *watch, list func(context.Context, Kind) (Snapshot, error)) error {
	k, err := s.engine.kinds.Find(ctx, w.key.gvk)
	if err == nil {
		err = k.CheckScope(s.engine.options.Namespaces)
	}
	if discover.IsUnwatchable(err) {
		w.problem.Store(&err)
		return nil
	}
	if err != nil {
		return err
	}
	conditions := discover.NoConditions
	if w.getsConditions() {
		if conditions, err = s.engine.kinds.Conditions(ctx, k.GVK); err != nil {
			return fmt.Errorf("conditions of %s: %w", k.GVK.Kind, err)
		}
	}
	now, err := list(ctx, k)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(w.key.selector)
	if err != nil {
		return fmt.Errorf("selector of %s: %w", k.GVK.Kind, err)
	}
	c := &cached{kind: k}
	for _, namespace := range parts(s.engine.options.Namespaces) {
		c.parts = append(c.parts, newFilledPart(namespace, cache.NewIndexer(cache.MetaNamespaceKeyFunc, w.indexers())))
	}
	c.conditions.Store(&conditions)
	v := &view{watch: w, shows: c, selector: selector}
	for _, u := range now.Objects {
		if u = v.shown(u); u != nil {
			if err := v.store(u).Add(newObject(u, w.key.role)); err != nil {
				return err
			}
		}
	}
	v.bookmark(now.Version)
	w.cached.Store(c)
	s.views = append(s.views, v)
	return nil
}

// Observe shows one change of an object to the watches that it concerns: now is
// nil where it was deleted. The version is the cluster's at that time. Neither
// object is changed.
func (s *Stepper) Observe(old, now *unstructured.Unstructured, version string) error {
	for _, v := range s.views {
		if err := v.observe(v.shown(old), v.shown(now)); err != nil {
			return err
		}
		v.bookmark(version)
	}
	return nil
}

// shown returns the object as the watch shows it, or nil if it does not.
func (v *view) shown(u *unstructured.Unstructured) *unstructured.Unstructured {
	gvk := v.shows.kind.GVK
	if u == nil || u.GroupVersionKind().GroupKind() != gvk.GroupKind() || !v.selector.Matches(rules.LabelsOf(u.Object)) || v.shows.part(u.GetNamespace()) == nil {
		return nil
	}
	u = u.DeepCopy()
	u.SetGroupVersionKind(gvk)
	return u
}

func (v *view) observe(old, now *unstructured.Unstructured) error {
	if now == nil {
		if old == nil {
			return nil
		}
		last := newObject(old, v.key.role)
		err := v.store(old).Delete(last)
		v.event(last)
		return err
	}
	o := newObject(now, v.key.role)
	store := v.store(now)
	before, known, err := store.Get(o)
	if err != nil {
		return err
	}
	if err := store.Update(o); err != nil {
		return err
	}
	if known {
		v.update(before.(*object), o)
		return nil
	}
	v.event(o)
	return nil
}

// store returns where an object that the watch shows is kept.
func (v *view) store(u *unstructured.Unstructured) cache.Indexer {
	return v.shows.part(u.GetNamespace()).objects()
}

func (v *view) bookmark(version string) {
	for _, p := range v.shows.parts {
		p.objects().Bookmark(version)
	}
}

// Serve serves the next request that is due, and reports whether there was one.
func (s *Stepper) Serve(ctx context.Context) bool {
	return s.engine.queue.Len() > 0 && s.engine.serveNext(ctx)
}

// Tidy does what a process does from time to time beside its work.
func (s *Stepper) Tidy(ctx context.Context) {
	s.engine.clearKinds(ctx, s.engine.plan.Load())
	s.clearRemoved(ctx)
}

// clearRemoved takes away once what removed rules have left.
func (s *Stepper) clearRemoved(ctx context.Context) {
	s.removed = slices.DeleteFunc(slices.Clone(s.removed), func(r inventory.RemovedRule) bool {
		done, _ := s.engine.clearRemoved(ctx, s.engine.plan.Load(), r)
		return done
	})
}
