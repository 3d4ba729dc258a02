package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/engine/inventory"
	"reconcel/rules/source"
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
only counted, unless you name them or give --all or --state.

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
the API server does not serve, rules without resources, the leader, and what you
may not read.

status lists the resources of all namespaces, unless you give -n. The permissions
get and list are enough; -w also needs watch. Nothing is written.

-o json and -o yaml print {resources, summary, leaders, problems}. Exit code: 0
nothing is stalled, 1 something is stalled, 2 wrong usage, 3 the rules are invalid,
the cluster does not answer, or a named resource does not exist.`

func (a *app) statusCommand() *cobra.Command {
	f := &statusFlags{output: settings.Choice(formatTable, formatWide, formatJSON, formatYAML)}
	cmd := &cobra.Command{
		Use:   "status [-f RULES...] [KIND[/NAME] ...]",
		Short: "List the resources that are not ready",
		Long:  statusText,
		Example: `  reconcel status
  reconcel status -n team-a --state stalled,waiting
  reconcel status -w foo
  reconcel status -f examples/foo/rules.yaml -o json foo/example-foo`,
		ValidArgsFunction: cobra.NoFileCompletions,
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

// A statusQuery is the query of a command line.
type statusQuery struct {
	targets       []cluster.Target
	wanted        func(resourceState) bool
	installations []installation // none: all of the cluster
}

// query parses the command line.
func (f *statusFlags) query(args []string) (q statusQuery, err error) {
	if err := f.scope.check(); err != nil {
		return q, err
	}
	if f.all && len(f.states) > 0 {
		return q, exit.Misused("--all and --state cannot be used together")
	}
	if f.watch && f.output.Value != formatTable && f.output.Value != formatWide {
		return q, exit.Misused("-w prints a table and cannot be used with -o %s", f.output.Value)
	}
	for _, arg := range args {
		target, ok := cluster.ParseTarget(arg)
		if !ok {
			return q, exit.Misused("%q is neither a kind nor a resource: expected KIND or KIND/NAME, such as foo/example", arg)
		}
		q.targets = append(q.targets, target)
	}
	if f.installation != "" {
		i, err := parseInstallation(f.installation)
		if err != nil {
			return q, err
		}
		q.installations = []installation{i}
	}
	q.wanted, err = f.filter()
	return q, err
}

// filter returns which states to list.
func (f *statusFlags) filter() (func(resourceState) bool, error) {
	if f.all {
		return func(resourceState) bool { return true }, nil
	}
	if len(f.states) == 0 {
		return resourceState.trouble, nil
	}
	var wanted []resourceState
	for _, text := range f.states {
		if !slices.Contains(resourceStates, resourceState(text)) {
			var names []string
			for _, s := range resourceStates {
				names = append(names, string(s))
			}
			return nil, exit.Misused("--state %q: expected some of %s%s", text, strings.Join(names, ", "), source.DidYouMean(text, names))
		}
		wanted = append(wanted, resourceState(text))
	}
	return func(s resourceState) bool { return slices.Contains(wanted, s) }, nil
}

// status prints a report, and watches if -w is set.
func (a *app) status(f *statusFlags, args []string) error {
	q, err := f.query(args)
	if err != nil {
		return err
	}
	var kinds []*statusKind
	if len(f.rules.paths) > 0 {
		// Do not validate the rules for the cluster: run keeps active rules that
		// are no longer valid for it.
		loaded, err := a.load(f.rules)
		if err != nil {
			return err
		}
		if len(loaded.Errors) > 0 {
			return exit.Failure(loaded.Errors) // With exit code 1, the answer would be that a resource is stalled.
		}
		kinds = kindsOfProgram(loaded.Program)
	}
	config, contextNamespace, err := f.cluster.connect(a.printWarnings())
	if err != nil {
		return err
	}
	live, err := cluster.New(config)
	if err != nil {
		return exit.Failure(err)
	}
	ctx, stop := untilSignal()
	defer stop()
	r := newStatusReader(live, kinds, q)
	r.namespace, r.named = f.scope.namespace, len(f.states) == 0
	progress := output.StartProgress(a.stderr)
	err = r.readAll(ctx, q, contextNamespace)
	progress.Stop()
	if err = interrupted(ctx, err); err != nil {
		return err
	}
	table := &statusTable{to: a.stdout, namespaces: f.scope.namespace == "", wide: f.output.Value == formatWide, coloured: output.IsColoured(a.stdout)}
	if err := a.tellStatus(&r.statusReport, table, f.output.Value); err != nil {
		return err
	}
	stalled := r.Summary.States[stateStalled] > 0
	if f.watch {
		if stalled, err = a.watchStatus(ctx, r, table); err != nil {
			return err
		}
	}
	switch {
	case stalled:
		return exit.Silent(exit.No) // The report shows it.
	case r.failed != nil:
		return exit.Silent(exit.Failed) // The error is already printed.
	}
	return nil
}

// nowhereInstalled is the error if no installation has ever run in the cluster.
var nowhereInstalled = "no installation of reconcel found in the cluster: there is no ConfigMap with the label " +
	inventory.Selector + " whose name ends with " + inventory.Name("")

// readAll finds the kinds to report on, and reads their resources.
func (r *statusReader) readAll(ctx context.Context, q statusQuery, contextNamespace string) error {
	installations, unread := r.installations(ctx, q, contextNamespace)
	switch {
	case unread != nil && r.kinds == nil && !apierrors.IsForbidden(unread):
		return fmt.Errorf("the inventory, which has the kinds to list, cannot be read: %w", unread)
	case unread != nil && r.kinds == nil:
		return fmt.Errorf("without -f, the kinds come from the inventory of an installation: %w", unread)
	case unread != nil:
		r.problem(inventoryUnreadable, nil, "%s", unread)
	case len(installations) == 0 && r.kinds == nil:
		return errors.New(nowhereInstalled + "; or give the rules with -f")
	case len(installations) == 0:
		r.problem(notInstalled, nil, "%s", nowhereInstalled)
	}
	if r.kinds == nil {
		r.kinds = r.inventoried(installations)
	}
	for _, k := range r.kinds {
		if err := k.find(ctx, r.cluster); err != nil {
			return err
		}
	}
	var err error
	if r.kinds, err = targeted(r.kinds, q.targets); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	r.readLeaders(ctx, installations)
	return nil
}

// installations returns the requested installations, or all.
func (r *statusReader) installations(ctx context.Context, q statusQuery, contextNamespace string) (all []installation, err error) {
	if len(q.installations) == 0 {
		return r.findInstallations(ctx, contextNamespace)
	}
	for _, i := range q.installations {
		known, err := r.readInstallation(ctx, i)
		if err != nil {
			return q.installations, err
		}
		all = append(all, known)
	}
	return all, nil
}

// inventoried returns the kinds of primaries in the inventories of installations.
func (r *statusReader) inventoried(all []installation) []*statusKind {
	found := kindsByName{}
	for _, i := range all {
		entries, err := i.inventory.Entries()
		if err != nil {
			r.problem(inventoryUnreadable, nil, "inventory ConfigMap/%s/%s: %s", i.namespace, inventory.Name(i.name), err)
		}
		found.addInventory(entries)
	}
	return found.sorted()
}

func (a *app) tellStatus(report *statusReport, table *statusTable, format string) error {
	if format == formatJSON || format == formatYAML {
		text, err := formatStatus(report, format)
		if err != nil {
			return exit.Failure(err)
		}
		return a.print(text)
	}
	if len(report.Resources) > 0 {
		if err := table.print(report.Resources, time.Now()); err != nil {
			return exit.Failure(fmt.Errorf("write the result: %w", err))
		}
		if err := a.print([]byte("\n")); err != nil {
			return err
		}
	}
	return a.print([]byte(report.footer()))
}
