package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/cli/internal/status"
	"reconcel/rules"
)

// statusFlags are the flags of status.
type statusFlags struct {
	rules        ruleFiles
	cluster      clusterFlags
	installation string
	scope        scopeFlags
	all          bool
	states       []string
	watch        bool
	output       *settings.Value[string]
}

const statusText = `List the resources that are not ready, of all kinds that rules are for. The worst
state comes first, and within a state the longest duration. Ready resources are
only counted, unless you name them or give --all or --state. What is wrong with the
rules comes before everything else: rejected rules files, changes that wait for
reconcel approve, and rollouts that are undone, paused or have failed.

  stalled       nothing changes until the resource, the rules or the cluster change
  retrying      an error occurred that may be temporary
  waiting       for something that does not exist yet, or for a deletion
  progressing   applied, and not ready yet
  paused        by the annotation reconcel.dev/paused
  unknown       reconcel has not observed the newest generation
  unreported    the kind has no status.conditions, and no Event reports a problem
  ready         the resource and its children are up to date and ready

The kinds are those of the rules (-f). Without -f they come from the inventories of
the installations in the cluster, so no file is needed. With -f, resources that no
rule selects are left out. Below the list, status prints other problems: kinds that
the API server does not serve, rules without resources, the leader, and what you may
not read.

status lists the resources of all namespaces, unless you give -n. The permissions
get and list are enough; -w also needs watch. Nothing is written.

-o json and -o yaml print {problems, resources, summary, leaders}. Exit code: 0
nothing is stalled, 1 something is stalled, or the rules of an installation are: its
files are rejected, a change is held, or a rollout is undone, paused or has failed,
2 wrong usage, 3 the rules of -f are invalid, the cluster does not answer, or a named
resource does not exist.`

// A statusCommand lists the resources that are not ready.
type statusCommand struct {
	out       *printer
	loader    *loader
	completer *completer
}

func (c statusCommand) command() *cobra.Command {
	f := &statusFlags{output: settings.Choice("table", "wide", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "status [-f RULES...] [KIND[/NAME] ...]",
		Short: "List the resources that are not ready",
		Long:  statusText,
		Example: `  reconcel status
  reconcel status -n team-a --state stalled,waiting
  reconcel status -w foo
  reconcel status -f examples/foo/rules.yaml -o json foo/example-foo`,
		ValidArgsFunction: c.completer.completeKinds,
		RunE:              func(_ *cobra.Command, args []string) error { return c.status(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.scope.flags(flags)
	flags.BoolVar(&f.all, "all", false, "list ready and unreported resources too")
	flags.StringSliceVar(&f.states, "state", nil,
		"`states` to list, such as stalled,waiting (default: all but ready and unreported)")
	flags.BoolVarP(&f.watch, "watch", "w", false, "after the list, print changes until Ctrl-C")
	flags.StringVar(&f.installation, "installation", "",
		"`namespace/name` of reconcel's own objects: run's --namespace and --name (default: all installations)")
	f.cluster.flags(flags)
	outputFlag(flags, f.output)
	return cmd
}

// query parses the command line.
func (f *statusFlags) query(args []string) (q status.Query, err error) {
	if err := f.scope.check(); err != nil {
		return q, err
	}
	q.Namespace, q.NamedInAnyState = f.scope.namespace, len(f.states) == 0
	for _, arg := range args {
		target, err := anyTarget(arg)
		if err != nil {
			return q, err
		}
		q.Targets = append(q.Targets, target)
	}
	if namespace, name, found := strings.Cut(f.installation, "/"); f.installation != "" {
		if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			return q, exit.Misused("--installation %q: expected NAMESPACE/NAME, such as reconcel-system/reconcel",
				f.installation)
		}
		q.Installation = types.NamespacedName{Namespace: namespace, Name: name}
	}
	switch {
	case f.all && len(f.states) > 0:
		return q, exit.Misused("--all and --state cannot be used together")
	case f.all:
		q.States = status.AllStates
	case len(f.states) == 0:
		q.States = status.Troubles
	default:
		q.States, err = status.ParseStates(f.states)
	}
	return q, err
}

// status prints a report, and follows changes if -w is set.
func (c statusCommand) status(f *statusFlags, args []string) error {
	q, err := f.query(args)
	if err != nil {
		return err
	}
	table, err := c.out.table(f.output.Value, f.watch)
	if err != nil {
		return err
	}
	if q.Program, err = c.loader.statusProgram(f.rules); err != nil {
		return err
	}
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return err
	}
	q.ContextNamespace = namespace
	ctx, stop := untilSignal()
	defer stop()
	var r *status.Reader
	err = c.out.showProgress(ctx, func(*output.Progress) error {
		r, err = status.Read(ctx, live, q)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.out.printAs(f.output.Value, &r.Report, func() error { return c.printReport(r, table) }); err != nil {
		return err
	}
	stalled := r.IsStalled()
	if f.watch {
		if stalled, err = r.Follow(ctx, table, c.out.say); err != nil {
			return exit.Failure(err)
		}
		stalled = stalled || r.AreRulesStalled()
	}
	switch {
	case stalled:
		return exit.Silent(exit.No) // The report shows it.
	case r.Failed != nil:
		return exit.Silent(exit.Failed) // The error is already printed.
	}
	return nil
}

// statusProgram returns the rules of -f, or nil. It does not validate them for the
// cluster: run keeps active rules that are no longer valid for it.
func (l *loader) statusProgram(f ruleFiles) (*rules.Program, error) {
	if len(f.paths) == 0 {
		return nil, nil
	}
	loaded, err := l.load(f)
	if err != nil {
		return nil, err
	}
	if len(loaded.Errors) > 0 {
		return nil, exit.Failure(loaded.Errors) // With exit code 1, the answer would be that a resource is stalled.
	}
	return loaded.Program, nil
}

func (c statusCommand) printReport(r *status.Reader, table *output.Table) error {
	footer := r.Footer()
	if header := r.Header(); header != "" {
		if err := c.out.print([]byte(header + "\n")); err != nil {
			return err
		}
	}
	if len(r.Resources) > 0 {
		footer = "\n" + footer
		if err := r.Write(table, r.Resources, time.Now()); err != nil {
			return err
		}
	}
	return c.out.print([]byte(footer))
}
