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
	program  *rules.Program // to begin with
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

	plan    atomic.Pointer[plan] // set before the first request is served
	reloads chan reload
	state   atomic.Pointer[string]
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
	e.reloads = make(chan reload)
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
	pl := e.route(newPlan(e.program, former, nil))
	for _, w := range pl.watches {
		e.watches.start(ctx, w)
	}
	if !e.awaitCaches(ctx, pl.watches) {
		return nil
	}
	e.follow(pl)
	e.keepHouse(ctx, pl)
	e.watches.running.Go(func() { e.reloadWhenAsked(ctx) })
	e.say("")
	e.log.Info("running", "rules", pl.rules(), "workers", e.options.Workers)
	e.work(ctx)
	return nil
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
func (e *Engine) awaitCaches(ctx context.Context, watches []*watch) bool {
	const patience = 30 * time.Second
	deadline := e.clock.Now().Add(patience)
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		missing := unsettled(watches)
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

// unsettled names the kinds that have no cache yet.
func unsettled(watches []*watch) (missing []string) {
	for _, w := range watches {
		if !w.settled() {
			missing = append(missing, fmt.Sprintf("%s: %s", w.key.gvk.Kind, w.trouble()))
		}
	}
	return missing
}
