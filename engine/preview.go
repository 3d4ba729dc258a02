package engine

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A Preview is an engine that shows what run would do: it reconciles chosen
// primaries with the code that runs in production. It writes no Events, no Lease
// and no inventory. It sends all other writes to its client, which must not let them
// take effect. The client must answer a write with a resourceVersion that is newer
// than every listed one, and accept that resourceVersion in later requests.
type Preview struct {
	stepper *Stepper
	list    Lister
	queue   *requests
	toEnd   bool
	before  *plan // of the rules that a reload has replaced, or nil
	missing []string
	unread  map[schema.GroupVersionKind]error // why a kind could not be read
}

// A Lister visits objects of a cluster. The Preview keeps none of them.
type Lister interface {
	// Primaries visits the primaries of a kind to reconcile.
	Primaries(ctx context.Context, k Kind, visit func(*unstructured.Unstructured) error) error
	// Children visits the objects of a kind with the label rules.LabelRule.
	Children(ctx context.Context, k Kind, visit func(*unstructured.Unstructured) error) error
	// Lookups visits the objects of a kind that lookups may read.
	Lookups(ctx context.Context, k Kind, visit func(*unstructured.Unstructured) error) error
}

// PreviewOf has the dependencies and options of a Preview.
type PreviewOf struct {
	Program *rules.Program
	Client  dynamic.Interface
	Kinds   discover.Kinds
	Numbers kindschema.NumberFields // of the kinds of all rules
	List    Lister
	// Namespace and Name are those of the previewed installation, as in Options.
	Namespace, Name string
	// Namespaces are as in Options.
	Namespaces []string
	// Inventories are all inventories in the cluster. They name the objects to
	// prune that a rule no longer renders.
	Inventories []inventory.Stored
	// Orphaned is what an inventory has besides the program. It replaces Inventories.
	Orphaned *inventory.Orphaned
	// Clock is the time of the preview; nil: now.
	Clock clock.PassiveClock
	// ToTheEnd reconciles a primary until nothing follows from its own writes, and not
	// only until no child waits for another one.
	ToTheEnd bool
}

// NewPreview lists all objects that the rules read. It does not change the
// objects of the Lister.
func NewPreview(ctx context.Context, of PreviewOf) (*Preview, error) {
	const inFlight = 16
	v := &Preview{list: of.List, queue: &requests{}, toEnd: of.ToTheEnd, unread: map[schema.GroupVersionKind]error{}}
	v.stepper = NewStepper(Dependencies{
		Client: of.Client, Kinds: of.Kinds, Events: untold{}, Clock: cmp.Or[clock.PassiveClock](of.Clock, clock.RealClock{}), Queue: v.queue,
		Random: func() float64 { return 0.5 }, InFlight: inFlight,
	}, Options{Log: slog.New(slog.DiscardHandler), Namespace: of.Namespace, Name: of.Name, Namespaces: of.Namespaces})
	v.stepper.engine.inventory = inventory.Unrecorded()
	v.stepper.engine.numbers.Store(&of.Numbers)
	orphaned := of.Orphaned
	if orphaned == nil {
		found, err := inventory.Recall(of.Inventories, of.Program)
		if err != nil {
			return nil, err
		}
		orphaned = &found
	}
	if err := v.follow(ctx, of.Program, *orphaned); err != nil {
		return nil, err
	}
	loaded := map[string]bool{}
	for _, p := range of.Program.Primaries() {
		for _, r := range p.Rules {
			loaded[r.Name] = true
		}
	}
	miss := func(rule, kind string) {
		if loaded[rule] {
			rule += " for " + kind // It is for other kinds now.
		}
		v.missing = append(v.missing, rule)
	}
	for _, r := range orphaned.Removed {
		miss(r.Name, r.For)
	}
	for _, r := range orphaned.Kept {
		miss(r.Name, r.Kind)
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
	return v.reconcile(ctx, v.stepper.engine.plan.Load(), req)
}

func (v *Preview) reconcile(ctx context.Context, pl *plan, req Request) (Report, error) {
	defer v.stepper.engine.memories.forget(req)
	report, err := v.reconcileOnce(ctx, pl, req)
	adopted := report.Adopted
	for range maxRounds {
		if err != nil || !report.waits() && (!v.toEnd || report.written == 0) {
			break
		}
		var next Report
		next, err = v.reconcileOnce(ctx, pl, req)
		adopted = append(adopted, next.Adopted...)
		settled := slices.Equal(next.Findings, report.Findings) && (!v.toEnd || next.written == report.written)
		if report = next; settled {
			break
		}
	}
	report.Adopted = adopted
	return report, err
}

func (v *Preview) reconcileOnce(ctx context.Context, pl *plan, req Request) (Report, error) {
	e := v.stepper.engine
	e.memories.get(req).self = nil // The client answers each write of the primary from its live state.
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
