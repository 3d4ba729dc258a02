package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/inventory"
	"reconcel/engine/leader"
	"reconcel/engine/reach"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// An Engine reconciles the primary objects of one program.
type Engine struct {
	options  Options
	program  *rules.Program // the initial one
	log      *slog.Logger
	client   dynamic.Interface
	sender   watch.Sender // of patches
	kinds    discover.Kinds
	events   recorder
	clock    clock.PassiveClock
	queue    workqueue.TypedRateLimitingInterface[Request]
	random   func() float64
	inFlight int
	coverage *rules.Coverage
	dryRun   *dryRun // nil: this engine writes

	judgeMissing missingJudge

	activity     *activity
	started      time.Time
	installation string // namespace/name, the mark on all objects that this engine applies

	memories  memories
	metrics   *metrics
	inventory *inventory.Inventory

	// announced has the times at which pending deletions were announced, by removalKey.
	// So a reload neither repeats an announcement nor restarts its wait.
	announced sync.Map

	settling        sync.Mutex           // held while a verdict is computed
	reportedRefused map[ruleOf]string    // reported refused rules, with their key
	reportedHolds   map[ruleOf]string    // reported rules that are held, with the hash of the change
	reportedKept    []inventory.KeptRule // reported kept rules; written by whoever makes a plan

	candidate  *leader.Candidate // nil if this is the only process
	leading    bool              // this process may write
	digest     *events.Digest    // of Events; set by New alone
	watcher    *watch.Watcher    // set by New alone
	reach      *reach.Monitor    // of the API server; set by New alone
	background sync.WaitGroup    // everything besides the workers and the watches

	plan          atomic.Pointer[plan] // set before the first request is served
	reloads       chan reload
	rejected      atomic.Pointer[inventory.Rejected]
	rejections    chan struct{}         // capacity 1: rejected has changed
	schemas       chan discover.Schemas // capacity 1
	schemaChanges atomic.Int64          // number of schema changes of kinds that rules use
	numbers       atomic.Pointer[kindschema.NumberFields]
	ended         chan struct{} // closed when Run has ended
	state         atomic.Pointer[string]
	working       atomic.Bool // this process reconciles and writes
}

// New returns an engine for the cluster of Options.Config; Run starts it. It returns
// an error if the client configuration is invalid, and sends no request.
func New(options Options, program *rules.Program) (*Engine, error) {
	options = options.withDefaults()
	unreachable := &reach.Monitor{}
	options.Metrics.MustRegister(unreachable.Metric())
	wrappers := []transport.WrapperFunc{unreachable.Wrap}
	var candidate *leader.Candidate
	if options.Leadership != nil && options.DryRun == nil {
		var err error
		name := types.NamespacedName{Namespace: options.Namespace, Name: options.Name}
		if candidate, err = leader.NewCandidate(options.Config, name, unreachable, options.Log, *options.Leadership); err != nil {
			return nil, fmt.Errorf("leader election: %w", err)
		}
		wrappers = append(wrappers, candidate.Guard)
	}
	c, err := connect(options.Config, options.Log, wrappers...)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	deps, digest := inCluster(c, options)
	e := newEngine(deps, options, program)
	e.digest, e.candidate, e.leading, e.reach = digest, candidate, candidate == nil, unreachable
	if e.watcher, err = newWatcher(c, e); err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	e.reloads, e.ended, e.schemas = make(chan reload), make(chan struct{}), make(chan discover.Schemas, 1)
	e.rejections = make(chan struct{}, 1)
	return e, nil
}

// Run reconciles until ctx ends, and returns when every worker and watch has
// stopped. It returns the error of Options.Approve. It retries while the API server does not answer or denies a permission.
// With Options.Leadership it stands by until it leads, and releases the Lease after
// its last write.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.watcher.Restored = func(err watch.RestoredError) { cancel(err) }
	approved := make(chan *rules.Program, 1)
	rejected := make(chan error, 1)
	go func() {
		program, err := e.program, error(nil)
		if e.options.Approve != nil {
			program, err = e.options.Approve(ctx)
		}
		if err != nil {
			cancel(err)
		}
		approved <- program
		rejected <- err
	}()
	e.run(ctx, approved)
	cancel(nil)
	if err := <-rejected; err != nil {
		return err
	}
	if restored, ok := errors.AsType[watch.RestoredError](context.Cause(ctx)); ok {
		return restored
	}
	return nil
}

// run is Run without its errors. approved has the program that runs, or nothing until ctx has ended.
func (e *Engine) run(ctx context.Context, approved <-chan *rules.Program) {
	ctx, cancel := context.WithCancel(ctx)
	defer close(e.ended)
	resign := func() {}
	defer func() { resign() }() // After the last possible write.
	e.digest.Start(ctx)
	defer e.digest.Stop()
	defer e.watcher.Wait()
	defer e.background.Wait() // Before the watcher: a reload starts watches.
	defer cancel()
	if e.candidate != nil {
		e.background.Go(func() { e.candidate.LogHolder(ctx) })
	}
	orphaned, read := e.readInventory(ctx, e.program)
	if !read {
		return // ctx ended during startup.
	}
	pl := e.route(newPlan(e.options.Namespace, settledIn(e.program), orphaned, nil))
	for _, w := range pl.watches {
		e.watcher.Start(ctx, w)
	}
	e.background.Go(func() { e.followSchemas(ctx) })
	e.background.Go(func() { e.activity.run(ctx) })
	if pl = e.runInstead(ctx, pl, <-approved); pl == nil || !e.awaitCaches(ctx, pl.watches) {
		return
	}
	if e.leading && !e.insist(ctx, func(ctx context.Context) error {
		admitted, err := e.admit(ctx, pl, nil, e.startFresh)
		if err == nil {
			pl.stopOthers(admitted)
			pl = admitted
		}
		return err
	}) {
		return
	}
	e.follow(nil, pl)
	if e.candidate != nil {
		resign = e.candidate.Stand(ctx)
		if !e.standBy(ctx) {
			return
		}
	}
	e.startCleanup(ctx, e.plan.Load())
	e.background.Go(func() { e.reloadWhenAsked(ctx) })
	if e.dryRun == nil {
		e.metrics.leader.Set(1)
		e.background.Go(func() { e.followRejected(ctx) })
	}
	e.working.Store(true)
	e.say("")
	e.log.Info("running", "rules", e.plan.Load().rules(), "workers", e.options.Workers)
	e.work(ctx)
}

// standBy keeps the rules up to date without writes until this process leads. It
// returns false if ctx ends first.
func (e *Engine) standBy(ctx context.Context) bool {
	e.say("")
	for {
		select {
		case r := <-e.reloads:
			r.done <- e.reload(ctx, r.program)
		case <-ctx.Done():
			return false
		case <-e.candidate.Elected():
			return e.lead(ctx)
		}
	}
}

// lead makes this process the leader. It reads the inventory again, because the
// previous leader may have changed it.
func (e *Engine) lead(ctx context.Context) bool {
	e.leading = true
	program := e.plan.Load().loaded
	return e.insist(ctx, func(ctx context.Context) error { return e.replace(ctx, program) })
}

// unreadyAfter is how long requests must fail before the engine is not ready. An API server that
// restarts, or a load balancer that replaces it, is back sooner.
const unreadyAfter = 5 * time.Second

// Ready returns nil when the engine is running, or else what it waits for.
func (e *Engine) Ready() error {
	if err := e.reach.Unreachable(unreadyAfter); err != nil {
		return err
	}
	if s := *e.state.Load(); s != "" {
		return errors.New(s)
	}
	if e.candidate != nil {
		return e.candidate.Trouble()
	}
	return nil
}

func (e *Engine) say(state string) { e.state.Store(&state) }
