package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Reload replaces the rules of a Preview as a reload replaces those of run. orphaned is
// what the rules leave behind. ReconcileBefore still follows the rules from before.
func (v *Preview) Reload(ctx context.Context, program *rules.Program, orphaned inventory.Orphaned) error {
	v.queue.take()
	v.before = v.stepper.engine.plan.Load()
	return v.follow(ctx, program, orphaned)
}

// ReconcileBefore is Reconcile with the rules from before Reload.
func (v *Preview) ReconcileBefore(ctx context.Context, req Request) (Report, error) {
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
	pl := e.route(newPlan(e.options.Namespace, settledIn(program), orphaned, running))
	for _, w := range pl.watches {
		if slices.Contains(running, w) {
			continue
		}
		if err := v.feed(ctx, w); err != nil {
			return err
		}
	}
	e.follow(e.plan.Load(), pl)
	return nil
}

// listing returns how a watch of a role lists its objects.
func (v *Preview) listing(ctx context.Context, role watch.Role) func(context.Context, Kind) watch.List {
	each := map[watch.Role]func(context.Context, Kind, func(*unstructured.Unstructured) error) error{
		watch.Primary: v.list.Primaries, watch.Child: v.list.Children, watch.Lookup: v.list.Lookups,
	}[role]
	return func(_ context.Context, k Kind) watch.List {
		return func(visit func(*unstructured.Unstructured) error) (version string, err error) {
			return "", each(ctx, k, visit)
		}
	}
}

// CleanUp sends the writes with which run begins the cleanup after removed rules, and
// returns what keeps it from the rest. The reconciliations of Requests continue it.
func (v *Preview) CleanUp(ctx context.Context) (problems []string) {
	e := v.stepper.engine
	pl := e.plan.Load()
	for _, f := range pl.orphaned.Finalizers {
		if err := e.removeMarks(ctx, pl, f); err != nil && !discover.IsNoKind(err) {
			problems = append(problems, fmt.Sprintf("rule %q, kind %s: %v", f.Rule, f.Kind, err))
		}
	}
	for _, r := range pl.orphaned.Removed {
		_, found := e.tryDeleteRemovedRule(ctx, pl, r)
		problems = append(problems, found...)
	}
	for _, primary := range pl.primaries {
		if !primary.mayHaveDeselected() {
			continue
		}
		if err := e.enqueueDeselected(ctx, primary); err != nil && !discover.IsUnwatchable(err) && v.unread[primary.GVK] == nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// Held returns the changes of rules that run does not let take effect without approval.
func (v *Preview) Held(ctx context.Context, ran *inventory.Recorded) (held []inventory.HeldChange, err error) {
	e := v.stepper.engine
	changed := changesSince(ran, e.plan.Load())
	tolls, err := e.countTolls(ctx, e.plan.Load(), changed)
	if err != nil {
		return nil, err
	}
	for i := range changed {
		c := &changed[i]
		if excess := e.excess(c, tolls[c.of]); excess != "" && !ran.Approved(c.hash()) {
			held = append(held, inventory.HeldChange{Rule: c.key.Rule, Kind: c.key.Kind, Hash: c.hash(), Message: e.hold(c, excess, tolls[c.of], nil).message})
		}
	}
	return held, nil
}

// Requests returns the primaries that run reconciles because of the last Reload and
// CleanUp, in the order of the rules, then by name. Without a Reload they are all
// primaries.
func (v *Preview) Requests() []Request {
	order := map[string]int{}
	for i, p := range v.stepper.engine.plan.Load().program.Primaries() {
		order[p.GVK.GroupKind().String()] = i
	}
	all := slices.Collect(maps.Keys(v.queue.take()))
	all = slices.DeleteFunc(all, func(r Request) bool { _, has := order[r.Kind.String()]; return !has })
	slices.SortFunc(all, func(a, b Request) int {
		return cmp.Or(cmp.Compare(order[a.Kind.String()], order[b.Kind.String()]), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all
}

// Primaries returns the number of primaries that the rules watch.
func (v *Preview) Primaries() (n int) {
	for _, primary := range v.stepper.engine.plan.Load().primaries {
		if c, err := primary.watch.Cache(); err == nil {
			for range c.All() {
				n++
			}
		}
	}
	return n
}

// EachOfEnded visits the objects of rules that run now and are not in the program. A kind that
// cannot be read does not affect the others.
func (v *Preview) EachOfEnded(ctx context.Context, visit func(Orphan)) error {
	e := v.stepper.engine
	var errs []error
	for _, r := range e.plan.Load().orphaned.Ended {
		s := &removal{engine: e, rule: r}
		for _, gvk := range r.Kinds() {
			err := s.eachMade(ctx, gvk, func(k Kind, o *watch.Object, owner Request) {
				visit(Orphan{Rule: r.Name, Child: o.Child(), Primary: owner, Object: o.Identity(k.GVK)})
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
	workqueue.TypedRateLimitingInterface[Request]

	mu    sync.Mutex
	added map[Request]struct{}
}

// Add implements workqueue.TypedInterface.
func (q *requests) Add(r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.added == nil {
		q.added = map[Request]struct{}{}
	}
	q.added[r] = struct{}{}
}

// Len implements workqueue.TypedInterface.
func (q *requests) Len() int { return 0 }

// take returns the collected requests, and forgets them.
func (q *requests) take() map[Request]struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.added
	q.added = nil
	return taken
}
