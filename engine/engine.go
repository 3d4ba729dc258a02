package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"

	"reconcel/engine/access"
	"reconcel/engine/admit"
	"reconcel/engine/cleanup"
	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/inventory"
	"reconcel/engine/leader"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/queue"
	"reconcel/engine/reach"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// An Engine reconciles the primary objects of one program. It owns the life of a process:
// start, leadership, reloads, end. The work itself is done by its parts, each of which uses
// only those above it: cluster, router, reconciler, workers, admission, cleanup, rollouts.
type Engine struct {
	*access.Shared
	Cluster    *access.Cluster
	Router     *queue.Router
	Reconciler *reconcile.Reconciler
	Workers    *reconcile.Workers
	Admission  *admit.Admission
	Cleanup    *cleanup.Cleanup
	Rollouts   *admit.Rollouts

	program *rules.Program // the initial one

	candidate  *leader.Candidate // nil if this is the only process
	leading    bool              // this process may write
	digest     *events.Digest    // of Events; set by New alone
	watcher    *watch.Watcher    // set by New alone
	reach      *reach.Monitor    // of the API server; set by New alone
	background sync.WaitGroup    // everything besides the workers and the watches

	rejected   atomic.Pointer[inventory.Rejected]
	rejections chan struct{}         // capacity 1: rejected has changed
	schemas    chan discover.Schemas // capacity 1
	ended      chan struct{}         // closed when Run has ended
	state      atomic.Pointer[string]
	working    atomic.Bool // this process reconciles and writes

	failedStarts access.Wordings // of insist

	retiring atomic.Pointer[plan.Plan] // whose reconciliations a reload has awaited for long; nil: none
}

// New returns an engine for the cluster of Options.Config; Run starts it. It returns
// an error if the client configuration is invalid, and sends no request.
func New(options access.Options, program *rules.Program) (*Engine, error) {
	options = options.WithDefaults()
	unreachable := &reach.Monitor{}
	options.Metrics.MustRegister(unreachable.Metric())
	wrappers := []transport.WrapperFunc{unreachable.Wrap}
	var candidate *leader.Candidate
	if options.Leadership != nil && options.DryRun == nil {
		var err error
		name := types.NamespacedName{Namespace: options.Namespace, Name: options.Name}
		if candidate, err = leader.NewCandidate(options.Config, name, unreachable, options.Log,
			*options.Leadership); err != nil {
			return nil, fmt.Errorf("leader election: %w", err)
		}
		wrappers = append(wrappers, candidate.Guard)
	}
	c, err := connect(options.Config, options.Log, wrappers...)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	deps, digest := inCluster(c, options)
	e := NewEngine(deps, options, program)
	e.digest, e.candidate, e.leading, e.reach = digest, candidate, candidate == nil, unreachable
	if e.watcher, err = newWatcher(c, e); err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	e.Reloads, e.ended, e.schemas = make(chan access.Reload), make(chan struct{}), make(chan discover.Schemas, 1)
	e.rejections = make(chan struct{}, 1)
	return e, nil
}

// Run reconciles until ctx ends, and returns when every worker and watch has
// stopped. It returns the error of Options.Approve. It retries while the API server does not
// answer or denies a permission. With Options.Leadership it stands by until it leads, and releases the Lease after
// its last write.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.watcher.Restored = func(err watch.RestoredError) { cancel(err) }
	approved := make(chan *rules.Program, 1)
	rejected := make(chan error, 1)
	go func() {
		program, err := e.program, error(nil)
		if e.Options.Approve != nil {
			program, err = e.Options.Approve(ctx)
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
	defer e.watcher.Wait() // Last: client-go may wait half a minute before it ends a watch that is throttled.
	resign := func() {}
	defer func() { resign() }() // After the last possible write.
	e.digest.Start(ctx)
	defer e.digest.Stop()
	defer e.background.Wait() // Before the watcher: a reload starts watches.
	defer cancel()
	if e.candidate != nil {
		e.Router.StandBy()
		e.background.Go(func() { e.candidate.LogHolder(ctx) })
	}
	orphaned, read := e.readInventory(ctx, e.program)
	if !read {
		return // ctx ended during startup.
	}
	pl := e.Router.Route(plan.NewPlan(e.Options.Namespace, plan.AllActive(e.program), orphaned, nil))
	for _, w := range pl.Watches {
		e.watcher.Start(ctx, w)
	}
	e.background.Go(func() { e.followSchemas(ctx) })
	e.background.Go(func() { e.Activity.Run(ctx) })
	if pl = e.runInstead(ctx, pl, <-approved); pl == nil || !e.awaitCaches(ctx, pl.Watches) {
		return
	}
	if e.leading && !e.insist(ctx, func(ctx context.Context) error {
		admitted, err := e.Admission.Admit(ctx, pl, nil, e.startFresh)
		if err == nil {
			pl.StopOthers(admitted)
			pl = admitted
		}
		return err
	}) {
		return
	}
	e.Router.Follow(nil, pl)
	if e.candidate != nil {
		resign = e.candidate.Stand(ctx)
		if !e.standBy(ctx) {
			return
		}
	}
	e.startCleanup(ctx, e.Plan.Load())
	e.background.Go(func() { e.reloadWhenAsked(ctx) })
	if e.DryRun == nil {
		e.Metrics.Leader.Set(1)
		e.background.Go(func() { e.followRejected(ctx) })
	}
	e.working.Store(true)
	e.say("")
	e.Log.Info("running", "rules", e.Plan.Load().Rules(), "workers", e.Options.Workers)
	e.Workers.Work(ctx)
}

// standBy keeps the rules up to date without writes until this process leads. It
// returns false if ctx ends first.
func (e *Engine) standBy(ctx context.Context) bool {
	e.say("")
	for {
		select {
		case r := <-e.Reloads:
			r.Done <- e.reload(ctx, r.Program)
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
	program := e.Plan.Load().Loaded
	if !e.insist(ctx, func(ctx context.Context) error { return e.replace(ctx, program) }) {
		return false
	}
	e.Router.Begin()
	return true
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

// ReportInvalidRules records an Event about rejected rules on the inventory's
// ConfigMap.
func (e *Engine) ReportInvalidRules(note string) {
	e.Cluster.ReportRules(outcome.ReasonRulesInvalid, "Reload", note)
}

// ReportRulesInvalidForCluster records an Event about active rules that no longer match the
// cluster's schemas, on the inventory's ConfigMap.
func (e *Engine) ReportRulesInvalidForCluster(note string) {
	e.Cluster.ReportRules(outcome.ReasonRulesInvalidForCluster, "Check", note)
}
