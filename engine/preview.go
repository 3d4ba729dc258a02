package engine

import (
	"context"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Preview is an engine that shows the next step of run: it reconciles chosen
// primaries once each, by the code that runs in production. It writes no
// Events, no Lease and no inventory. Everything else it writes to the client that
// it is given, which must see to it that nothing takes effect.
type Preview struct {
	stepper *Stepper
	missing []string
}

// A Lister lists objects of a cluster.
type Lister interface {
	// Primaries returns the primaries of a kind that are to be reconciled.
	Primaries(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error)
	// Children returns the objects of a kind with the label rules.LabelRule.
	Children(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error)
	// Lookups returns the objects of a kind that lookups may read.
	Lookups(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error)
}

// A PreviewOf says what is previewed, and where.
type PreviewOf struct {
	Program *rules.Program
	Client  dynamic.Interface
	Kinds   discover.Kinds
	List    Lister
	// Namespace and Name are those of the installation whose next step it is, as in
	// Options.
	Namespace, Name string
	// Namespaces are as in Options.
	Namespaces []string
	// Inventories are those of the cluster: what a rule made once and no longer renders
	// is pruned.
	Inventories []inventory.Stored
}

// NewPreview lists what the rules read. The objects of a Lister are not changed.
func NewPreview(ctx context.Context, of PreviewOf) (*Preview, error) {
	const inFlight = 16
	s := NewStepper(Dependencies{
		Client: of.Client, Kinds: of.Kinds, Events: untold{}, Clock: clock.RealClock{}, Queue: unqueued{},
		Random: func() float64 { return 0.5 }, InFlight: inFlight,
	}, Options{Log: slog.New(slog.DiscardHandler), Namespace: of.Namespace, Name: of.Name, Namespaces: of.Namespaces})
	orphaned, err := inventory.Recall(of.Inventories, of.Program)
	if err != nil {
		return nil, err
	}
	pl := s.engine.route(newPlan(of.Program, orphaned, nil))
	for _, w := range pl.watches {
		list := map[watch.Role]func(context.Context, Kind) ([]*unstructured.Unstructured, error){
			watch.Primary: of.List.Primaries, watch.Child: of.List.Children, watch.Lookup: of.List.Lookups,
		}[w.Role]
		err := s.feed(ctx, w, func(ctx context.Context, k Kind) (Snapshot, error) {
			objects, err := list(ctx, k)
			return Snapshot{Objects: objects}, err
		})
		if err != nil {
			return nil, err
		}
	}
	s.engine.plan.Store(pl) // And nothing is enqueued.
	v := &Preview{stepper: s}
	for _, r := range orphaned.Removed {
		v.missing = append(v.missing, r.Name)
	}
	for _, r := range orphaned.Kept {
		v.missing = append(v.missing, r.Name)
	}
	return v, nil
}

// Missing names rules that are not among the previewed ones, and of whose objects
// or finalizers inventories know. What becomes of these is not previewed.
func (v *Preview) Missing() []string { return slices.Compact(slices.Sorted(slices.Values(v.missing))) }

// Reconcile returns what one reconciliation of a primary decides, besides the
// writes that it sends to the client. It may be called by several goroutines, for
// different primaries.
func (v *Preview) Reconcile(ctx context.Context, req Request) (Report, error) {
	e := v.stepper.engine
	pl := e.enter()
	defer pl.leave()
	p, err := e.begin(ctx, pl, req)
	if p == nil || err != nil {
		return Report{}, err
	}
	defer renderings.Put(p.rendering)
	defer e.memories.forget(req)
	p.findings = &findings{}
	// A status that is still moving is held back for a while: here that is over.
	p.memory.unsettled = e.clock.Now().Add(-settle)
	_, err = p.run(ctx)
	return p.previewed(), err
}

// untold drops Events.
type untold struct{}

// Record implements EventRecorder.
func (untold) Record(corev1.ObjectReference, string, string, string, string) {}

// unqueued is the queue of an engine that serves what it is asked for.
type unqueued struct {
	workqueue.TypedRateLimitingInterface[Request]
}

// Add implements workqueue.TypedInterface.
func (unqueued) Add(Request) {}

// Len implements workqueue.TypedInterface.
func (unqueued) Len() int { return 0 }
