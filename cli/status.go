package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/cluster"
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
only counted, unless you name them or give --all or --state. If the rules files are
rejected and older rules are active, that comes before everything else.

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
the API server does not serve, rules without resources, changes that wait for
reconcel approve, the leader, and what you may not read.

status lists the resources of all namespaces, unless you give -n. The permissions
get and list are enough; -w also needs watch. Nothing is written.

-o json and -o yaml print {resources, summary, leaders, problems}. Exit code: 0
nothing is stalled, 1 something is stalled or the rules files of an installation are
rejected, 2 wrong usage, 3 the rules of -f are invalid, the cluster does not answer,
or a named resource does not exist.`

func (a *app) statusCommand() *cobra.Command {
	f := &statusFlags{output: settings.Choice("table", "wide", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "status [-f RULES...] [KIND[/NAME] ...]",
		Short: "List the resources that are not ready",
		Long:  statusText,
		Example: `  reconcel status
  reconcel status -n team-a --state stalled,waiting
  reconcel status -w foo
  reconcel status -f examples/foo/rules.yaml -o json foo/example-foo`,
		ValidArgsFunction: a.completeKinds,
		RunE:              func(_ *cobra.Command, args []string) error { return a.status(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.scope.flags(flags)
	flags.BoolVar(&f.all, "all", false, "list ready and unreported resources too")
	flags.StringSliceVar(&f.states, "state", nil, "`states` to list, such as stalled,waiting (default: all but ready and unreported)")
	flags.BoolVarP(&f.watch, "watch", "w", false, "after the list, print changes until Ctrl-C")
	flags.StringVar(&f.installation, "installation", "", "`namespace/name` of reconcel's own objects: run's --namespace and --name (default: all installations)")
	f.cluster.flags(flags)
	outputFlag(flags, f.output)
	return cmd
}

// query parses the command line.
func (f *statusFlags) query(args []string) (q status.Query, err error) {
	if err := f.scope.check(); err != nil {
		return q, err
	}
	if f.watch && f.output.Value != "table" && f.output.Value != "wide" {
		return q, exit.Misused("-w prints a table and cannot be used with -o %s", f.output.Value)
	}
	q.Namespace, q.NamedInAnyState = f.scope.namespace, len(f.states) == 0
	for _, arg := range args {
		target, ok := cluster.ParseTarget(arg)
		if !ok {
			return q, exit.Misused("%q is neither a kind nor a resource: expected KIND or KIND/NAME, such as foo/example", arg)
		}
		q.Targets = append(q.Targets, target)
	}
	if namespace, name, found := strings.Cut(f.installation, "/"); f.installation != "" {
		if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			return q, exit.Misused("--installation %q: expected NAMESPACE/NAME, such as reconcel-system/reconcel", f.installation)
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
func (a *app) status(f *statusFlags, args []string) error {
	q, err := f.query(args)
	if err != nil {
		return err
	}
	if q.Program, err = a.statusProgram(f.rules); err != nil {
		return err
	}
	config, contextNamespace, err := f.cluster.connect(a.printWarnings())
	if err != nil {
		return err
	}
	q.ContextNamespace = contextNamespace
	live, err := cluster.New(config)
	if err != nil {
		return exit.Failure(err)
	}
	ctx, stop := untilSignal()
	defer stop()
	progress := output.StartProgress(a.stderr)
	r, err := status.Read(ctx, live, q)
	progress.Stop()
	if err = interrupted(ctx, err); err != nil {
		return err
	}
	table := &status.Table{Print: a.print, Namespaces: q.Namespace == "", Wide: f.output.Value == "wide", Coloured: output.IsColoured(a.stdout)}
	if err := a.printReport(&r.Report, table, f.output.Value); err != nil {
		return err
	}
	stalled := r.IsStalled()
	if f.watch {
		if stalled, err = r.Follow(ctx, table, a.say); err != nil {
			return exit.Failure(err)
		}
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
func (a *app) statusProgram(f ruleFiles) (*rules.Program, error) {
	if len(f.paths) == 0 {
		return nil, nil
	}
	loaded, err := a.load(f)
	if err != nil {
		return nil, err
	}
	if len(loaded.Errors) > 0 {
		return nil, exit.Failure(loaded.Errors) // With exit code 1, the answer would be that a resource is stalled.
	}
	return loaded.Program, nil
}

func (a *app) printReport(report *status.Report, table *status.Table, format string) error {
	switch format {
	case "json":
		return a.printJSON(report)
	case "yaml":
		return a.printYAML(report)
	}
	footer := report.Footer()
	if header := report.Header(); header != "" {
		if err := a.print([]byte(header + "\n")); err != nil {
			return err
		}
	}
	if len(report.Resources) > 0 {
		footer = "\n" + footer
		if err := table.Write(report.Resources, time.Now()); err != nil {
			return err
		}
	}
	return a.print([]byte(footer))
}
