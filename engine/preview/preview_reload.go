package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"reconcel/engine/access"
	"reconcel/engine/admit"
	"reconcel/engine/cleanup"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Reload replaces the rules of a Preview as a reload replaces those of run. orphaned is
// what the rules leave behind. ReconcileBefore still follows the rules from before.
func (v *Preview) Reload(ctx context.Context, program *rules.Program, orphaned inventory.Orphaned) error {
	v.queue.added.Clear()
	v.before = v.stepper.engine.Plan.Load()
	return v.follow(ctx, program, orphaned)
}

// ReconcileBefore is Reconcile with the rules from before Reload.
func (v *Preview) ReconcileBefore(ctx context.Context, req ident.Request) (Report, error) {
	return v.reconcile(ctx, v.before, req)
}

// follow activates a program. It lists what the watches of the rules from before do not
// have.
func (v *Preview) follow(ctx context.Context, program *rules.Program, orphaned inventory.Orphaned) error {
	s, e := v.stepper, v.stepper.engine
	var running []*watch.Watch
	for _, f := range s.feeds {
		running = append(running, f.Watch)
	}
	e.Cluster.NameServedVersions(ctx, orphaned)
	pl := e.Router.Route(plan.NewPlan(e.Options.Namespace, plan.AllActive(program), orphaned, running))
	for _, w := range pl.Watches {
		if slices.Contains(running, w) {
			continue
		}
		if err := v.feed(ctx, w); err != nil {
			return err
		}
	}
	pl.Admitted.Store(e.Admission.Judge(ctx, pl, nil))
	e.Router.Follow(e.Plan.Load(), pl)
	return nil
}

// CleanUp sends the writes with which run begins the cleanup after removed rules, and
// returns what keeps it from the rest: paused primaries, and errors. The reconciliations of
// Requests continue it.
func (v *Preview) CleanUp(ctx context.Context) (paused []string, errs []error) {
	keep := func(rule string, err error) {
		if errors.Is(err, cleanup.ErrPaused) {
			paused = append(paused, fmt.Sprintf("removed rule %q: %v", rule, err))
			return
		}
		errs = append(errs, incomplete(rule, err))
	}
	e := v.stepper.engine
	pl := e.Plan.Load()
	for _, f := range pl.Orphaned.Finalizers {
		if err := e.Cleanup.RemoveMarks(ctx, pl, f); err != nil && !discover.IsNoKind(err) {
			keep(f.Rule, err)
		}
	}
	for _, r := range pl.Orphaned.Removed {
		_, problems := e.Cleanup.TryDeleteRemovedRule(ctx, pl, r)
		for _, err := range problems {
			keep(r.Name, err)
		}
	}
	for _, primary := range pl.Primaries {
		if !primary.MayHaveDeselected() {
			continue
		}
		if err := e.Router.EnqueueDeselected(ctx, primary); err != nil && !discover.IsUnwatchable(err) &&
			v.unread[primary.GVK] == nil {
			errs = append(errs, err)
		}
	}
	return paused, errs
}

func incomplete(rule string, err error) error {
	return fmt.Errorf("%w; incomplete: the removed rule %q", err, rule)
}

// Held returns the changes of rules that run does not let take effect without approval.
func (v *Preview) Held(ctx context.Context, ran *inventory.Recorded) (held []inventory.HeldChange, err error) {
	e := v.stepper.engine
	changed := plan.ChangesSince(ran, e.Plan.Load())
	counts, err := e.Admission.CountDeletions(ctx, e.Plan.Load(), changed)
	if err != nil {
		return nil, err
	}
	for i := range changed {
		c := &changed[i]
		last := plan.RunningRule(ran, v.before, c)
		excess := e.Admission.Excess(ran, c, counts[c.Of], last)
		if excess == "" {
			continue
		}
		loaded := e.Plan.Load().Loaded
		if !admit.Approved(ran, loaded, c, last) {
			held = append(held, inventory.HeldChange{Rule: c.Key.Rule, Kind: c.Key.Kind, Hash: c.Hash(),
				Message: e.Admission.Hold(loaded, c, excess, counts[c.Of], last).Message})
		}
	}
	return held, nil
}

// Changed returns the rules that are not those that ran last.
func (v *Preview) Changed(ran *inventory.Recorded) (all []*rules.Rule) {
	for _, c := range plan.ChangesSince(ran, v.stepper.engine.Plan.Load()) {
		if c.Now != nil {
			all = append(all, c.Now)
		}
	}
	return all
}

// Requests returns the primaries that run reconciles because of the last Reload and
// CleanUp, in the order of the rules, then by name. Without a Reload they are all
// primaries.
func (v *Preview) Requests() []ident.Request {
	order := map[string]int{}
	for i, p := range v.stepper.engine.Plan.Load().Program.Primaries() {
		order[p.GVK.GroupKind().String()] = i
	}
	var all []ident.Request
	v.queue.added.Range(func(key, _ any) bool {
		r := key.(ident.Request)
		if _, has := order[r.Kind.String()]; has {
			all = append(all, r)
		}
		return true
	})
	v.queue.added.Clear()
	slices.SortFunc(all, func(a, b ident.Request) int {
		return cmp.Or(cmp.Compare(order[a.Kind.String()], order[b.Kind.String()]), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name))
	})
	return all
}

// Primaries returns the number of primaries that the rules watch, or have watched before Reload,
// and of those that EachOfEnded has found.
func (v *Preview) Primaries() int {
	n := len(v.ended)
	for _, w := range v.watched() {
		if c, err := w.Cache(); err == nil {
			for range c.All() {
				n++
			}
		}
	}
	return n
}

// watched returns the watches of primaries of the rules, and of those from before Reload.
func (v *Preview) watched() map[schema.GroupKind]*watch.Watch {
	all := map[schema.GroupKind]*watch.Watch{}
	for _, pl := range []*plan.Plan{v.before, v.stepper.engine.Plan.Load()} {
		if pl == nil {
			continue
		}
		for kind, primary := range pl.Primaries {
			all[kind] = primary.Watch
		}
	}
	return all
}

// An Ended object is one of a rule that runs now and is not in the program.
type Ended struct {
	access.Orphan
	Deleted bool // run deletes it, although perhaps not at once
}

// EachOfEnded visits the objects of rules that run now and are not in the program, unless another
// rule keeps them. A kind that cannot be read does not affect the others.
func (v *Preview) EachOfEnded(ctx context.Context, visit func(Ended)) (errs []error) {
	e, watched := v.stepper.engine, v.watched()
	pl := e.Plan.Load()
	for _, r := range pl.Orphaned.Ended {
		s := cleanup.NewRemoval(ctx, e.Cluster, pl, r)
		removed := slices.ContainsFunc(pl.Orphaned.Removed, func(other inventory.RemovedRule) bool {
			return other.Name == r.Name && other.For == r.For
		})
		for _, gvk := range r.Kinds() {
			err := s.EachMade(ctx, gvk, func(k ident.Kind, o *watch.Object, owner ident.Request) {
				deleted := removed && s.Deletes(o)
				if o.Terminating() || deleted && s.Keeps(k, o, owner) {
					return
				}
				if watched[owner.Kind] == nil {
					v.ended[owner] = true
				}
				visit(Ended{access.Orphan{Rule: r.Name, Child: o.Child(), Primary: owner, Object: o.Identity(k.GVK)}, deleted})
			})
			if err != nil && !discover.IsNoKind(err) {
				errs = append(errs, incomplete(r.Name, err))
			}
		}
	}
	return errs
}

// requests is the queue of a Preview. It collects requests: the caller of Reconcile
// chooses among them.
type requests struct {
	workqueue.TypedRateLimitingInterface[ident.Request]

	added sync.Map // of Requests
}

// Add implements workqueue.TypedInterface.
func (q *requests) Add(r ident.Request) { q.added.Store(r, nil) }

// Len implements workqueue.TypedInterface.
func (q *requests) Len() int { return 0 }
