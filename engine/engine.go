package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/rules"
)

// Options are the settings of an Engine. Config is required; the zero value of
// everything else is a useful one.
type Options struct {
	Config *rest.Config
	Log    *slog.Logger // default: slog.Default()

	// Namespace holds the engine's own objects, which Name names: the
	// inventory is the ConfigMap <Name>-inventory. Defaults: "default" and
	// "reconcel".
	Namespace string
	Name      string

	Workers      int           // objects served at a time; default 16
	ReapplyEvery time.Duration // how often a converged child is applied again; 0: never

	Metrics prometheus.Registerer // default: a registry of its own
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Name == "" {
		o.Name = "reconcel"
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	return o
}

// An Engine reconciles the primary objects of one program.
type Engine struct {
	options  Options
	program  *rules.Program
	log      *slog.Logger
	client   dynamic.Interface
	kinds    Kinds
	events   recorder
	clock    clock.PassiveClock
	queue    workqueue.TypedRateLimitingInterface[Request]
	random   func() float64
	inFlight int
	coverage *rules.Coverage

	memories  memories
	metrics   *metrics
	inventory *inventory

	broadcaster *broadcaster // of Events; nil where nothing runs by itself
	watches     *watches     // likewise

	plan  *plan // set before the first request is served
	state atomic.Pointer[string]
}

// New makes an engine that works on the cluster of Options.Config; Run starts
// it. The error says what is wrong with the client configuration; nothing is
// sent yet.
func New(options Options, program *rules.Program) (*Engine, error) {
	surroundings, broadcaster, err := inCluster(options.Config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	e := newEngine(surroundings, options.withDefaults(), program)
	e.broadcaster = broadcaster
	e.watches = &watches{client: e.client, kinds: e.kinds, log: e.log}
	return e, nil
}

// Run reconciles until ctx ends, and returns when every worker and watch has
// stopped. What the API server does not answer or allow yet is waited for.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer e.watches.wait()
	defer cancel()
	former, err := e.takeInventory(ctx)
	if err != nil {
		return nil // Stopped before it began.
	}
	if err := e.broadcaster.start(ctx); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	defer e.broadcaster.stop()
	e.layOut(former)
	for _, w := range e.plan.watches {
		e.watches.start(ctx, w)
	}
	if !e.awaitCaches(ctx) {
		return nil
	}
	e.watches.running.Go(func() { e.clearInventory(ctx, former.children) })
	e.watches.running.Go(func() { e.sweepFinalizers(ctx, former.finalizers) })
	e.lookForLeavers(ctx)
	e.say("")
	e.log.Info("running", "rules", e.ruleCount(), "workers", e.options.Workers)
	e.work(ctx)
	return nil
}

// layOut plans the watches, and says whom each tells of what.
func (e *Engine) layOut(former past) {
	e.plan = newPlan(e.program, former.children)
	for _, w := range e.plan.watches {
		w.onReady = func() { e.enqueueAll(w) }
		switch w.key.role {
		case primaryRole:
			w.onEvent = e.enqueuePrimary
		case childRole:
			w.onEvent = e.enqueueOwner
		case lookupRole:
			w.onEvent = func(o *object) { w.interests.tell(o, e.queue.Add) }
		}
	}
}

func (e *Engine) ruleCount() (n int) {
	for _, p := range e.program.Primaries() {
		n += len(p.Rules)
	}
	return n
}

// Ready returns nil when the engine is at work, or else what it waits for.
func (e *Engine) Ready() error {
	if s := *e.state.Load(); s != "" {
		return errors.New(s)
	}
	return nil
}

func (e *Engine) say(state string) { e.state.Store(&state) }

// takeInventory reads and extends the inventory, for as long as it takes:
// without it nothing may be written.
func (e *Engine) takeInventory(ctx context.Context) (former past, err error) {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
	err = backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		var err error
		if former, err = e.inventory.extend(ctx, e.program); err != nil {
			e.say(err.Error())
			e.log.Warn("not started yet, will try again", "error", err)
			return false, nil
		}
		return true, nil
	})
	return former, err
}

// awaitCaches waits until every kind that exists has been listed. A kind that
// cannot be listed holds back its own rules only, so that after a while work
// begins without it.
func (e *Engine) awaitCaches(ctx context.Context) bool {
	const patience = 30 * time.Second
	deadline := e.clock.Now().Add(patience)
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		missing := e.unsettled()
		if len(missing) == 0 {
			return true, nil
		}
		e.say("waiting for " + strings.Join(missing, "; "))
		if e.clock.Now().After(deadline) {
			e.log.Warn("starting without some kinds", "missing", missing)
			return true, nil
		}
		return false, nil
	})
	return err == nil
}

func (e *Engine) unsettled() (missing []string) {
	for _, w := range e.plan.watches {
		if !w.settled() {
			missing = append(missing, fmt.Sprintf("%s: %s", w.key.gvk.Kind, w.trouble()))
		}
	}
	return missing
}

// enqueuePrimary asks for a look at a primary that was added, changed or
// deleted.
func (e *Engine) enqueuePrimary(o *object) {
	e.queue.Add(Request{
		Kind:      schema.GroupKind{Group: o.GroupVersionKind().Group, Kind: o.GetKind()},
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
	})
}

// enqueueOwner asks for a look at the primary of a child that was added,
// changed or deleted, and at the one that now bears its name.
func (e *Engine) enqueueOwner(o *object) {
	owner, ok := o.owner()
	if !ok {
		return
	}
	primary := e.plan.primaries[owner.Kind]
	if primary == nil {
		return
	}
	cache := primary.watch.cached.Load()
	if cache == nil {
		return // Everything is looked at when there is one.
	}
	if !cache.kind.Namespaced {
		owner.Namespace = ""
	}
	e.queue.Add(owner)
	if current := cache.get(owner.Namespace, owner.Name); current != nil && current.GetUID() != owner.UID {
		e.enqueuePrimary(current)
	}
}

// enqueueAll asks for a look at every primary that a watch has to do with,
// after its cache has been filled.
func (e *Engine) enqueueAll(ready *watch) {
	for _, primary := range e.plan.primaries {
		if !primary.uses(ready) {
			continue
		}
		if cache := primary.watch.cached.Load(); cache != nil {
			for _, item := range cache.objects.List() {
				e.enqueuePrimary(item.(*object))
			}
		}
		for _, watches := range primary.byRule {
			for _, w := range watches {
				if cache := w.cached.Load(); cache != nil {
					for _, item := range cache.objects.List() {
						e.enqueueOwner(item.(*object))
					}
				}
			}
		}
	}
}

// clearInventory takes the kinds that rules no longer render out of the
// inventory, each as soon as nothing of it is left.
func (e *Engine) clearInventory(ctx context.Context, former map[string][]schema.GroupVersionKind) {
	const interval = 5 * time.Second
	wait.UntilWithContext(ctx, func(ctx context.Context) { e.clearKinds(ctx, former) }, interval)
}

func (e *Engine) clearKinds(ctx context.Context, former map[string][]schema.GroupVersionKind) {
	for _, primary := range e.plan.primaries {
		for _, r := range primary.Rules {
			for _, w := range primary.byRule[r] {
				e.clearKind(ctx, former, r, w)
			}
		}
	}
}

func (e *Engine) clearKind(ctx context.Context, former map[string][]schema.GroupVersionKind, r *rules.Rule, w *watch) {
	cache := w.cached.Load()
	if cache == nil {
		return
	}
	for i, gvk := range former[r.Name] {
		if gvk != w.key.gvk || cache.holds(r.Name) {
			continue
		}
		if err := e.inventory.drop(ctx, r.Name, gvk); err != nil {
			e.log.Warn("inventory not updated, will try again", "rule", r.Name, "kind", gvk.Kind, "error", err)
			return
		}
		e.log.Info("nothing is left of a kind", "rule", r.Name, "kind", gvk.Kind)
		former[r.Name] = append(former[r.Name][:i:i], former[r.Name][i+1:]...)
		return
	}
}
