package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/judge"
	"reconcel/engine"
	"reconcel/rules/source"
)

func (a *app) runCommand() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "run -f RULES...",
		Short: "Reconcile a cluster by rules",
		Long: `Watch the resources that the rules are for, and keep what they own as the rules
say, until SIGTERM or SIGINT. A second signal ends at once.

When the rules files change they are followed as they are then. Rules that are
wrong are reported, and the last good ones are followed on.

Every flag below is also a setting: log-level, say, is RECONCEL_LOG_LEVEL in the
environment and log-level in reconcel.yaml. A flag comes before the environment,
that before the file, that before the default. The file is reconcel.yaml in the
working directory, or what --config or RECONCEL_CONFIG names; paths in it are
relative to it.

Rules that do not fit the kinds of the cluster are wrong: what validate --crd
says of CRDs is said here of the cluster, before anything is done. Kinds that it
does not know yet are waited for.

With --namespaced only some namespaces are followed, under Roles in these, and
the rules can have no kinds that live in none.

The cluster is found as kubectl finds it: --kubeconfig, KUBECONFIG,
~/.kube/config, and inside a Pod its own account.

Exit code: 0 stopped by a signal, 1 the rules are wrong, 2 wrong usage or
settings, 3 there is no cluster to talk to, the address is taken, or another
process has taken the lead.`,
		Example: `  reconcel run -f examples/foo/rules.yaml --log-level debug`,
		Args:    flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolve(cmd.Flags()); err != nil {
				return err
			}
			return a.run(s)
		},
	}
	cmd.Flags().String(configFlag, "", "settings `file` (default: reconcel.yaml, if there is one)")
	s.flags(cmd.Flags())
	return cmd
}

// run reconciles until a signal comes. Everything that can be wrong without a
// cluster is found before anything is sent.
func (a *app) run(s *settings) error {
	if err := once(s.rules.paths); err != nil {
		return err
	}
	if s.pprof && s.debug.text == off {
		return misused("--pprof needs --debug-listen, such as --debug-listen=127.0.0.1:6060")
	}
	rules, err := a.load(s.rules)
	if err != nil {
		return err
	}
	if err := rejected(judge.Of(rules, nil, s.policy())); err != nil {
		return err
	}
	log := newLog(a.stderr, s)
	config, namespace, err := connection(s, log)
	if err != nil {
		return err
	}
	server, err := listen(s.listen)
	if err != nil {
		return err
	}
	debug, err := listenDebug(s.debug)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	metrics := newMetrics()
	fitter := &fitter{config: config, log: log, metrics: newRuleMetrics(metrics), policy: s.policy()}
	if err := fitter.check(ctx, rules); err != nil {
		return err
	}
	machine, err := engine.New(engine.Options{
		Config: config, Log: log, Namespace: namespace, Name: s.name, Namespaces: s.only, Leadership: leadership(s, log),
		Source: origin(s.rules.paths), ConfirmRemoval: s.confirmed, TakeOver: s.takeOver,
		Workers: s.workers.n, ReapplyEvery: time.Duration(s.reapply), Metrics: metrics,
	}, rules.Program)
	if err != nil {
		return failed(err)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	told := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(told)
		stop() // From now on a signal does what it does by default: it ends the process.
		log.Info("stopping", "reason", context.Cause(ctx))
	})
	server.start(endpoints(machine.Ready, metrics), cancel)
	defer server.stop()
	fitter.tell = machine.TellMisfitRules
	watch := &ruleWatch{
		paths: s.rules.paths, read: func() ([]source.File, source.Errors) { return a.sources(s.rules) },
		policy: s.policy(), check: fitter.check, fitter: fitter, schemas: machine.Schemas(), loaded: rules,
		follow: machine.Reload, refuse: machine.TellRefusedRules, log: log, metrics: fitter.metrics,
	}
	watching := watch.start(ctx, rules.Sources)
	debug.start(s.debugHandler(machine.Inspect, &watch.state), cancel)
	defer debug.stop()
	defer func() {
		cancel(nil) // Nothing else ends the watching if the engine fails.
		watching.Wait()
	}()
	log.Info("starting", "version", builtFrom().Version, "files", len(rules.Sources), "cluster", config.Host,
		"namespace", namespace, "listen", server.address())
	if err := machine.Run(ctx); err != nil {
		return failed(err)
	}
	cancel(nil) // The engine stops of itself only with its context, but who waits must be sure.
	<-told
	log.Info("stopped")
	if broken, ok := errors.AsType[*exitError](context.Cause(ctx)); ok {
		return broken
	}
	return nil // A signal.
}
