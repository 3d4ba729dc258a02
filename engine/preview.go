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

// A Preview is an engine that shows what run would do: it reconciles chosen
// primaries with the code that runs in production. It writes no Events, no Lease
// and no inventory. It sends all other writes to its client, which must not let them
// take effect. The client must answer a write with a resourceVersion that is newer
// than every listed one, and accept that resourceVersion in later requests.
type Preview struct {
	stepper *Stepper
	missing []string
}

// A Lister lists objects of a cluster.
type Lister interface {
	// Primaries returns the primaries of a kind to reconcile.
	Primaries(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error)
	// Children returns the objects of a kind with the label rules.LabelRule.
	Children(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error)
	// Lookups returns the objects of a kind that lookups may read.
	Lookups(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error)
}

// PreviewOf has the dependencies and options of a Preview.
type PreviewOf struct {
	Program *rules.Program
	Client  dynamic.Interface
	Kinds   discover.Kinds
	List    Lister
	// Namespace and Name are those of the previewed installation, as in Options.
	Namespace, Name string
	// Namespaces are as in Options.
	Namespaces []string
	// Inventories are all inventories in the cluster. They name the objects to
	// prune that a rule no longer renders.
	Inventories []inventory.Stored
}

// NewPreview lists all objects that the rules read. It does not change the
// objects of the Lister.
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
	s.engine.plan.Store(pl) // Unlike a reload, this enqueues no request.
	v := &Preview{stepper: s}
	for _, r := range orphaned.Removed {
		v.missing = append(v.missing, r.Name)
	}
	for _, r := range orphaned.Kept {
		v.missing = append(v.missing, r.Name)
	}
	return v, nil
}

// Missing names the rules that have objects or finalizers in the inventories
// but are not among the previewed rules. Their cleanup is not previewed.
func (v *Preview) Missing() []string { return slices.Compact(slices.Sorted(slices.Values(v.missing))) }

// maxRounds limits how often a Preview reconciles one primary again. A chain of
// children that read each other needs one round for each.
const maxRounds = 32

// Reconcile returns the decisions about a primary, besides the writes that it sends
// to the client. It reconciles the primary again while that ends a wait of one of its
// children for another one: such a child reads the client's answer to an earlier write.
// Several goroutines may call it, for different primaries.
func (v *Preview) Reconcile(ctx context.Context, req Request) (Report, error) {
	defer v.stepper.engine.memories.forget(req)
	report, err := v.reconcileOnce(ctx, req)
	adopted := report.Adopted
	for range maxRounds {
		if err != nil || !report.waits() {
			break
		}
		var next Report
		next, err = v.reconcileOnce(ctx, req)
		adopted = append(adopted, next.Adopted...)
		settled := slices.Equal(next.Findings, report.Findings)
		if report = next; settled {
			break
		}
	}
	report.Adopted = adopted
	return report, err
}

func (v *Preview) reconcileOnce(ctx context.Context, req Request) (Report, error) {
	e := v.stepper.engine
	e.memories.get(req).self = nil // The client answers each write of the primary from its live state.
	pl := e.enter()
	defer pl.leave()
	p, err := e.begin(ctx, pl, req)
	if p == nil || err != nil {
		return Report{}, err
	}
	defer renderings.Put(p.rendering)
	p.findings = &findings{}
	// A status that still changes is normally delayed; here the delay is over.
	p.memory.unsettled = e.clock.Now().Add(-longestSettle)
	p.memory.unreported = p.memory.unsettled
	_, err = p.run(ctx)
	return p.previewed(), err
}

// untold discards Events.
type untold struct{}

// Record implements EventRecorder.
func (untold) Record(corev1.ObjectReference, string, string, string, string) {}

// unqueued is the queue of a Preview. It discards requests, because the caller
// of Reconcile chooses the primaries.
type unqueued struct {
	workqueue.TypedRateLimitingInterface[Request]
}

// Add implements workqueue.TypedInterface.
func (unqueued) Add(Request) {}

// Len implements workqueue.TypedInterface.
func (unqueued) Len() int { return 0 }
