package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cleanuprole"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/ruleobjects"
	"reconcel/cli/internal/rulewatch"
	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/engine/leader"
	"reconcel/engine/plan"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/rules/source"
)

// A controller is the controller of a process, with rules of files. The commands run and dev have one.
type controller struct {
	*runFlags
	out       *printer
	loader    *loader
	loaded    *rules.Loaded
	invalid   error // what is wrong with loaded, or nil
	log       *slog.Logger
	config    *rest.Config
	namespace string // of its own objects

	server, debug *server
	leadership    *leader.Options
	clock         access.Clock // nil: the time of the machine
	// last returns how a process finds the rules that it starts with if those of the files are invalid.
	last func(*engine.Engine) func(context.Context) ([]source.File, error)
}

// run reconciles until ctx ends. Then it calls stop, so that a signal has its default effect: it ends the process.
func (c controller) run(ctx context.Context, stop func()) error {
	first := c.loaded.Program
	if c.invalid != nil {
		first = &rules.Program{} // Nothing of invalid rules is read.
	}
	metrics := newMetrics()
	validator := &rulewatch.Validator{Config: c.config, Policy: c.policy(), Log: c.log,
		Metrics: rulewatch.NewMetrics(metrics)}
	var unsent *change.Unsent
	var dry plan.DryRun // nil: it writes
	if c.dryRun {
		c.config.Wrap(dryrun.Guard)
		unsent = change.NewUnsent()
		dry, validator.DryRun = unsent, unsent.SetSchemas
	}
	var watch *rulewatch.Watch
	watching := &sync.WaitGroup{}
	var cleanup *cleanuprole.Keeper // set before the engine runs
	machine, err := engine.New(access.Options{
		Config: c.config, Log: c.log, Namespace: c.namespace, Name: c.name, Namespaces: c.only, Leadership: c.leadership,
		Source: c.origin(), ConfirmRemoval: c.confirmed, TakeOver: c.takeOver,
		Approve: func(ctx context.Context) (*rules.Program, error) {
			approved, err := watch.Approve(ctx)
			if err != nil {
				return nil, cmp.Or(c.invalid, exit.Wrong(err))
			}
			watching = watch.Start(ctx)
			return approved, nil
		},
		Workers: c.workers.Value, ReapplyEvery: time.Duration(c.reapply.Value), MaxDeletions: &c.deletions.Value,
		Events: access.EventFilter(c.events.Value), Metrics: metrics,
		DryRun: dry, Clock: c.clock, Retain: func(ctx context.Context, r access.Remains) { cleanup.Keep(ctx, r) },
		Retained: func(programs []*rules.Program) bool { return cleanup.Keeps(programs) },
	}, first)
	if err != nil {
		return exit.Failure(err)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	logged := make(chan struct{})
	unlogged := context.AfterFunc(ctx, func() {
		defer close(logged)
		stop()
		c.log.Info("stopping", "reason", context.Cause(ctx))
	})
	cleanup = cleanuprole.New(cleanuprole.Options{Client: machine.Client, Kinds: machine.Kinds, Name: c.name,
		Namespace: c.namespace, Namespaces: c.only, Log: c.log})
	validator.Report = machine.ReportRulesInvalidForCluster
	validator.Learn = func(kinds *kindschema.Set, of *rules.Program) {
		machine.Learn(kinds, of)
		cleanup.Learn(kinds)
	}
	objects, err := c.objectsOf(machine)
	if err != nil {
		return exit.Failure(err)
	}
	watch = rulewatch.New(rulewatch.Options{
		Read:  func() ([]source.File, source.Errors) { return c.loader.reader(c.rules).Rules(c.rules.paths) },
		Paths: files.Reloadable(c.rules.paths), Objects: objects,
		Policy: c.policy(), Check: validator.Check, Validator: validator, Schemas: machine.Schemas(),
		Reload: machine.Reload, Reject: machine.ReportInvalidRules, Log: c.log, Metrics: validator.Metrics,
		Publish: func(state *rulewatch.State) { machine.RecordRejected(state.Record()) }, Last: c.last(machine),
	}, c.loaded)
	c.server.start(endpoints(machine.Ready, watch.State, func() []string {
		return append(machine.Inspect().Problems, validator.Missing()...)
	}, metrics), cancel)
	defer c.server.stop()
	c.debug.start(c.debugHandler(machine.Inspect, watch.State), cancel)
	defer c.debug.stop()
	if objects != nil {
		defer c.watchObjects(ctx, objects, machine)()
	}
	defer func() {
		cancel(nil) // If the engine fails, only this ends the watch.
		watching.Wait()
	}()
	c.log.Info("starting", "version", builtFrom().Version, "files", len(c.loaded.Sources), "cluster", c.config.Host,
		"namespace", c.namespace, "listen", c.server.address(), "debugListen", c.debug.address())
	if err := machine.Run(ctx); err != nil {
		unlogged()
		if invalid, ok := errors.AsType[*exit.Error](err); ok {
			return invalid
		}
		return exit.Failure(err)
	}
	cancel(nil) // The goroutine that closes logged waits for ctx, even if the engine returned for another reason.
	<-logged
	c.log.Info("stopped")
	if broken, ok := errors.AsType[*exit.Error](context.Cause(ctx)); ok {
		return broken
	}
	if unsent == nil {
		return nil // A signal ended the process.
	}
	return c.out.print([]byte(unsent.Text()))
}

// objectsOf returns the Rules objects that the controller follows, or nil for none.
func (c controller) objectsOf(machine *engine.Engine) (*ruleobjects.Objects, error) {
	if !c.rulesObjects {
		return nil, nil
	}
	discover, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	return ruleobjects.New(ruleobjects.Options{Client: machine.Client, Discovery: discover, Namespace: c.namespace,
		Log: c.log}), nil
}

// watchObjects watches Rules objects and writes their status until ctx ends. It returns a function that waits for the
// end.
func (c controller) watchObjects(ctx context.Context, objects *ruleobjects.Objects, machine *engine.Engine) func() {
	var running sync.WaitGroup
	running.Go(func() { objects.Run(ctx) })
	if !c.dryRun {
		running.Go(func() { objects.Report(ctx, machine.Inspect) })
	}
	return running.Wait
}
