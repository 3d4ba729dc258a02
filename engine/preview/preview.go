package preview

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/reconcile"
	"reconcel/engine/report"
	"reconcel/engine/watch"
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
	before  *plan.Plan                        // of the rules that a reload has replaced, or nil
	unread  map[schema.GroupVersionKind]error // why a kind could not be read
	ended   map[ident.Request]bool            // primaries of removed rules that the rules do not watch
	others  sync.Map                          // *others by *plan.Plan
}

// A Lister visits the objects of a kind in a role: the primaries to reconcile, those with the label
// rules.LabelRule, or those that lookups may read. The Preview keeps none of them.
type Lister func(ctx context.Context, role watch.Role, k ident.Kind, visit func(*unstructured.Unstructured) error) error

// Config has the dependencies and options of a Preview.
type Config struct {
	Program *rules.Program
	Client  dynamic.Interface
	Kinds   discover.Kinds
	Numbers kindschema.NumberFields // of the kinds of all rules
	List    Lister
	// Namespace and Name are those of the previewed installation, as in Options.
	Namespace, Name string
	// Namespaces and MaxDeletions are as in Options.
	Namespaces   []string
	MaxDeletions *intstr.IntOrString
	// Orphaned is what the inventories have besides the program: the objects to prune that a
	// rule no longer renders.
	Orphaned inventory.Orphaned
	// Clock is the time of the preview; nil: now.
	Clock clock.PassiveClock
	// ToTheEnd reconciles a primary until nothing follows from its own writes, and not
	// only until no child waits for another one. The Lister then visits all primaries.
	ToTheEnd bool
}

// NewPreview lists all objects that the rules read. It does not change the
// objects of the Lister.
func NewPreview(ctx context.Context, of Config) (*Preview, error) {
	const inFlight = 16
	v := &Preview{list: of.List, queue: &requests{}, toEnd: of.ToTheEnd, unread: map[schema.GroupVersionKind]error{},
		ended: map[ident.Request]bool{}}
	v.stepper = NewStepper(engine.Dependencies{
		Client: of.Client, Kinds: of.Kinds, Events: reconcile.Untold{},
		Clock: cmp.Or[clock.PassiveClock](of.Clock, clock.RealClock{}), Queue: v.queue,
		Random: func() float64 { return 0.5 }, InFlight: inFlight,
	}, access.Options{Log: slog.New(slog.DiscardHandler), Namespace: of.Namespace, Name: of.Name,
		Namespaces: of.Namespaces, MaxDeletions: of.MaxDeletions})
	v.stepper.engine.Inventory = inventory.Unrecorded()
	v.stepper.engine.Numbers.Store(&of.Numbers)
	if err := v.follow(ctx, of.Program, of.Orphaned); err != nil {
		return nil, err
	}
	return v, nil
}

// Reconcile returns the decisions about a primary, besides the writes that it sends
// to the client. It reconciles the primary again while that ends a wait of one of its
// children for another one: such a child reads the client's answer to an earlier write.
// Several goroutines may call it, for different primaries.
func (v *Preview) Reconcile(ctx context.Context, req ident.Request) (Report, error) {
	return v.reconcile(ctx, v.stepper.engine.Plan.Load(), req)
}

func (v *Preview) reconcile(ctx context.Context, pl *plan.Plan, req ident.Request) (Report, error) {
	report, err := v.reconcileRounds(ctx, pl, req)
	report.Findings = append(v.refused(pl, req), report.Findings...)
	return report, err
}

func (v *Preview) reconcileRounds(ctx context.Context, pl *plan.Plan, req ident.Request) (Report, error) {
	defer v.stepper.engine.Memories.Forget(req)
	report, err := v.reconcileOnce(ctx, pl, req)
	taken := report.Taken
	for range reconcile.MaxRounds {
		if err != nil || !report.waits() && (!v.toEnd || report.written == 0) {
			break
		}
		var next Report
		next, err = v.reconcileOnce(ctx, pl, req)
		taken = append(taken, next.Taken...)
		settled := slices.Equal(next.Findings, report.Findings) && (!v.toEnd || next.written == report.written)
		if report = next; settled {
			break
		}
	}
	report.Taken = taken
	return report, err
}

// refused returns the rules of a primary that are inactive because another installation has their objects.
func (v *Preview) refused(pl *plan.Plan, req ident.Request) (found []access.Finding) {
	pk, admitted := pl.Primaries[req.Kind], pl.Admitted.Load()
	if pk == nil || !admitted.RefusesAny(pk) {
		return nil
	}
	cache, err := pk.Watch.Cache()
	if err != nil {
		return nil
	}
	self, _ := cache.Get(req.Namespace, req.Name)
	for _, r := range pk.Rules {
		selects := r.ForCluster() && v.stepper.engine.Cluster.BundleOf(r.Name) == req
		if !selects && self != nil {
			selects = r.MaySelect(v.stepper.engine.Router.InputOf(self))
		}
		if admitted.Refuses(r) && selects {
			found = append(found, access.Finding{Rule: r.Name, Action: outcome.Rejected, Message: admitted.Why(r)})
		}
	}
	return found
}

func (v *Preview) reconcileOnce(ctx context.Context, pl *plan.Plan, req ident.Request) (Report, error) {
	e := v.stepper.engine
	e.Memories.Get(req).Self = nil // The client answers each write of the primary from its live state.
	p, err := e.Reconciler.Begin(ctx, pl, req)
	if p == nil || err != nil {
		return Report{}, err
	}
	defer p.Release()
	p.Findings = &access.Findings{Others: v.othersOf(pl)}
	// A status that still changes is normally delayed; here the delay is over.
	p.Memory.Unsettled = e.Clock.Now().Add(-report.LongestSettle)
	p.Memory.Unreported = p.Memory.Unsettled
	_, err = p.Run(ctx)
	return (&previewReport{&p.Subject, &p.View, &p.Metadata, &p.Teardown}).previewed(), err
}
