package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/util/workqueue"

	"reconcel/engine/access"
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
	pl := e.Router.Route(plan.NewPlan(e.Options.Namespace, plan.AllActive(program), orphaned, running))
	for _, w := range pl.Watches {
		if slices.Contains(running, w) {
			continue
		}
		if err := v.feed(ctx, w); err != nil {
			return err
		}
	}
	e.Router.Follow(e.Plan.Load(), pl)
	return nil
}

// CleanUp sends the writes with which run begins the cleanup after removed rules, and
// returns what keeps it from the rest. The reconciliations of Requests continue it.
func (v *Preview) CleanUp(ctx context.Context) (problems []string) {
	e := v.stepper.engine
	pl := e.Plan.Load()
	for _, f := range pl.Orphaned.Finalizers {
		if err := e.Cleanup.RemoveMarks(ctx, pl, f); err != nil && !discover.IsNoKind(err) {
			problems = append(problems, fmt.Sprintf("rule %q, kind %s: %v", f.Rule, f.Kind, err))
		}
	}
	for _, r := range pl.Orphaned.Removed {
		_, found := e.Cleanup.TryDeleteRemovedRule(ctx, pl, r)
		problems = append(problems, found...)
	}
	for _, primary := range pl.Primaries {
		if !primary.MayHaveDeselected() {
			continue
		}
		if err := e.Router.EnqueueDeselected(ctx, primary); err != nil && !discover.IsUnwatchable(err) &&
			v.unread[primary.GVK] == nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
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
		if excess := e.Admission.Excess(ran, c, counts[c.Of]); excess != "" && !ran.Approved(c.Hash()) {
			held = append(held, inventory.HeldChange{Rule: c.Key.Rule, Kind: c.Key.Kind, Hash: c.Hash(),
				Message: e.Admission.Hold(c, excess, counts[c.Of], nil).Message})
		}
	}
	return held, nil
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

// Primaries returns the number of primaries that the rules watch.
func (v *Preview) Primaries() (n int) {
	for _, primary := range v.stepper.engine.Plan.Load().Primaries {
		if c, err := primary.Watch.Cache(); err == nil {
			for range c.All() {
				n++
			}
		}
	}
	return n
}

// EachOfEnded visits the objects of rules that run now and are not in the program. A kind that
// cannot be read does not affect the others.
func (v *Preview) EachOfEnded(ctx context.Context, visit func(access.Orphan)) error {
	e := v.stepper.engine
	var errs []error
	for _, r := range e.Plan.Load().Orphaned.Ended {
		s := &cleanup.Removal{Cluster: e.Cluster, Rule: r}
		for _, gvk := range r.Kinds() {
			err := s.EachMade(ctx, gvk, func(k ident.Kind, o *watch.Object, owner ident.Request) {
				visit(access.Orphan{Rule: r.Name, Child: o.Child(), Primary: owner, Object: o.Identity(k.GVK)})
			})
			if err != nil && !discover.IsNoKind(err) {
				errs = append(errs, fmt.Errorf("%w; incomplete: kind %s of the removed rule %q", err, gvk.Kind, r.Name))
			}
		}
	}
	return errors.Join(errs...)
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
