package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// Options are the settings of an Engine. Config is required; the zero value of
// everything else is a useful one.
type Options struct {
	Config *rest.Config
	Log    *slog.Logger // default: slog.Default()

	// Namespace holds the engine's own objects, which Name names: the
	// inventory is the ConfigMap inventory.Name(Name). Defaults: "default" and
	// "reconcel".
	Namespace string
	Name      string

	// Namespaces are those that are followed; none stands for all. Nothing is
	// asked of the whole cluster then, so that kinds that are in no namespace
	// cannot be followed, and nothing is read or written in other namespaces.
	Namespaces []string

	Leadership *Leadership // nil: this is the only process

	// Source says where the rules come from. What a removed rule has made is
	// deleted only by a process of the same source as the last one that had the
	// rule: another one has never had it, so that it cannot have been removed there.
	Source string
	// ConfirmRemoval names removed rules whose objects are deleted whatever the source.
	ConfirmRemoval []string
	// TakeOver names installations, each namespace/name, whose objects this one
	// takes over once they have stopped.
	TakeOver []string
	// RemovalGrace is how long the deletion of a removed rule's objects waits
	// after it was announced; default 30 s.
	RemovalGrace time.Duration

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
	if o.RemovalGrace <= 0 {
		o.RemovalGrace = 30 * time.Second
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
	kinds    discover.Kinds
	events   recorder
	clock    clock.PassiveClock
	queue    workqueue.TypedRateLimitingInterface[Request]
	random   func() float64
	inFlight int
	coverage *rules.Coverage

	activity     *activity
	started      time.Time
	installation string // namespace/name, which marks what this engine applies

	memories  memories
	metrics   *metrics
	inventory *inventory.Inventory

	announcements announcements // of deletions that come

	settling    sync.Mutex           // while a verdict is reached
	toldRefused map[string]string    // what people know of refused rules: the key of each, by name
	toldKept    []inventory.KeptRule // that people know of; written by whoever makes a plan

	candidate   *candidate   // nil: this is the only process
	leading     bool         // it may write
	broadcaster *broadcaster // of Events; nil where nothing runs by itself
	watches     *watches     // likewise

	plan          atomic.Pointer[plan] // set before the first request is served
	reloads       chan reload
	schemas       chan discover.Schemas // with room for one
	schemaChanges atomic.Int64          // how often schemas of kinds that rules mention have changed
	ended         chan struct{}         // closed when Run has ended
	state         atomic.Pointer[string]
	working       atomic.Bool // the rules are followed, with writes
}

// New makes an engine that works on the cluster of Options.Config; Run starts
// it. The error says what is wrong with the client configuration; nothing is
// sent yet.
func New(options Options, program *rules.Program) (*Engine, error) {
	options = options.withDefaults()
	var candidate *candidate
	config := options.Config
	if options.Leadership != nil {
		var err error
		if candidate, err = newCandidate(options); err != nil {
			return nil, fmt.Errorf("leader election: %w", err)
		}
		config = candidate.term.guard(config)
	}
	surroundings, broadcaster, err := inCluster(config, options)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	e := newEngine(surroundings, options, program)
	e.broadcaster, e.candidate, e.leading = broadcaster, candidate, candidate == nil
	if e.watches, err = newWatches(config, e); err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	e.reloads, e.ended, e.schemas = make(chan reload), make(chan struct{}), make(chan discover.Schemas, 1)
	return e, nil
}

// Run reconciles until ctx ends, and returns when every worker and watch has
// stopped. What the API server does not answer or allow yet is waited for. With
// Options.Leadership it stands by until it is the one that leads; it gives the
// Lease back when its last write has ended.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer close(e.ended)
	resign := func() {}
	defer func() { resign() }() // When nothing can write any more.
	e.broadcaster.start(ctx)
	defer e.broadcaster.stop()
	defer e.watches.wait()
	defer cancel()
	if e.candidate != nil {
		e.watches.running.Go(func() { e.candidate.look(ctx) })
	}
	orphaned, read := e.readInventory(ctx)
	if !read {
		return nil // Stopped before it began.
	}
	pl := e.route(newPlan(e.program, orphaned, nil))
	for _, w := range pl.watches {
		e.watches.start(ctx, w)
	}
	e.watches.running.Go(func() { e.followSchemas(ctx) })
	e.watches.running.Go(func() { e.activity.run(ctx) })
	if !e.awaitCaches(ctx, pl.watches) {
		return nil
	}
	if e.leading && !e.insist(ctx, func(ctx context.Context) error { return e.settle(ctx, pl, nil) }) {
		return nil
	}
	e.follow(pl)
	if e.candidate != nil {
		resign = e.candidate.stand(ctx)
		if !e.standBy(ctx) {
			return nil
		}
	}
	e.keepHouse(ctx, e.plan.Load())
	e.watches.running.Go(func() { e.reloadWhenAsked(ctx) })
	e.metrics.leader.Set(1)
	e.working.Store(true)
	e.say("")
	e.log.Info("running", "rules", e.plan.Load().rules(), "workers", e.options.Workers)
	e.work(ctx)
	return nil
}

// standBy follows the rules without a write until this process leads, and
// returns false if it never came to that.
func (e *Engine) standBy(ctx context.Context) bool {
	e.say("")
	for {
		select {
		case r := <-e.reloads:
			r.done <- e.reload(ctx, r.program)
		case <-ctx.Done():
			return false
		case <-e.candidate.won:
			return e.lead(ctx)
		}
	}
}

// lead makes this process the one that writes. The inventory is read anew: the
// leader before it may have changed it.
func (e *Engine) lead(ctx context.Context) bool {
	e.leading = true
	program := e.plan.Load().program
	return e.insist(ctx, func(ctx context.Context) error { return e.replace(ctx, program) })
}

// Ready returns nil when the engine is at work, or else what it waits for.
func (e *Engine) Ready() error {
	if s := *e.state.Load(); s != "" {
		return errors.New(s)
	}
	if e.candidate != nil {
		return e.candidate.trouble.standing()
	}
	return nil
}

func (e *Engine) say(state string) { e.state.Store(&state) }

// readInventory reads the inventory for as long as it takes: without it nothing
// may be written.
func (e *Engine) readInventory(ctx context.Context) (orphaned inventory.Orphaned, read bool) {
	read = e.insist(ctx, func(ctx context.Context) error {
		var err error
		orphaned, err = e.inventory.Compare(ctx, e.program)
		return err
	})
	return orphaned, read
}

// insist tries what has to succeed before the work begins, and returns false if
// ctx has ended before.
func (e *Engine) insist(ctx context.Context, try func(context.Context) error) bool {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
	return backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil && ctx.Err() == nil {
			e.say(err.Error())
			e.log.Warn("start failed, will retry", "error", err)
		}
		return err == nil, nil
	}) == nil
}

// awaitCaches waits until every kind that exists and may be read has been
// listed. A kind that cannot be listed holds back its own rules only, so that
// after a while work begins without it.
func (e *Engine) awaitCaches(ctx context.Context, watches []*watch) bool {
	const patience = 30 * time.Second
	deadline := e.clock.Now().Add(patience)
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing := unsettled(watches)
		if len(missing) == 0 {
			return true, nil
		}
		e.say("waiting for " + strings.Join(missing, "; "))
		if !slices.ContainsFunc(watches, (*watch).pending) || e.clock.Now().After(deadline) {
			e.log.Log(ctx, missingLevel(watches), "starting, some kinds are unavailable", "missing", missing)
			return true, nil
		}
		return false, nil
	})
	return err == nil
}

// missingLevel is how much people need to hear of kinds without a cache. One that
// is being listed needs nobody: it comes by itself.
func missingLevel(watches []*watch) slog.Level {
	for _, w := range watches {
		if slices.ContainsFunc(w.troubles(), func(err error) bool { return !discover.IsUnwatchable(err) && !errors.Is(err, errStarting) }) {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}

// unsettled names the kinds that have no cache yet.
func unsettled(watches []*watch) (missing []string) {
	for _, w := range watches {
		for _, err := range w.troubles() {
			if !discover.IsUnwatchable(err) {
				missing = append(missing, fmt.Sprintf("%s: %s", w.key.gvk.Kind, err))
			}
		}
	}
	return missing
}
