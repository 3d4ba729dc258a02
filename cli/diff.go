package cli

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/engine"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	policyFlags
	rules   ruleFiles
	cluster clusterFlags
	scopeFlags
	selector string
	noDryRun bool
	output   *settings.Value[string]
}

func (a *app) diffCommand() *cobra.Command {
	f := &diffFlags{output: settings.Choice("unified", "json")}
	cmd := &cobra.Command{
		Use:   "diff -f RULES... [KIND/NAME ...]",
		Short: "Show what rules would change in a cluster",
		Long: `Show the next step of run for each resource: which objects it would create,
configure, replace, adopt and delete, and what it would write into the resource
itself. diff runs the same controller as run, but sends every write as a dry run:
the result includes defaults and admission, and nothing is written.

Children that wait are listed on stderr and are not a difference. So are failures
(an expression, a check) and rejected writes, which the API server rejects or for
which another manager has an object of the same name. The output omits
managedFields, versions, times, the status of children, and the conditions Ready,
Reconciling and Stalled. It does not show the values of Secrets.

If run would not start because the rules are invalid for the schemas of the
cluster, diff prints the same message.

diff compares the resources of all namespaces, unless you give -n, -l or names. It
reads and sends dry runs as the user of the kubeconfig, who needs the permissions
of run. With --no-dry-run, permissions to read are enough, and the output omits
what the API server would add, change or reject.

-o json prints a list with one entry for each object. Its action is "rejected" or
"failed", with the reason, if run could not do what the rules say.

Exit code: 0 no differences, 1 differences, 2 wrong usage, 3 the rules are invalid
or the cluster cannot be read, 4 a write is rejected or something fails, whether or
not there are differences.`,
		Example: `  reconcel diff -f examples/foo/rules.yaml
  reconcel diff -f examples/foo/rules.yaml -n team-a foo/example-foo`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, args []string) error { return a.diff(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.policyFlags.flags(flags, "compare what run does with this flag, in these namespaces alone; may be repeated (default: all)")
	f.scopeFlags.flags(flags)
	flags.StringVarP(&f.selector, "selector", "l", "", "label `selector` of the resources, such as tier=web")
	f.cluster.flags(flags)
	flags.BoolVar(&f.noDryRun, "no-dry-run", false, "send no dry runs: permissions to read are enough")
	outputFlag(flags, f.output)
	return cmd
}

// diff compares. It reports all mistakes that it can find without a cluster before
// it sends a request.
func (a *app) diff(f *diffFlags, args []string) error {
	d, err := a.newDiffer(f, args)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	progress := output.StartProgress(a.stderr)
	chosen, err := a.compare(ctx, f, d, progress)
	progress.Stop()
	if err = interrupted(ctx, err); err != nil {
		return err
	}
	return a.tellDiff(f, d, chosen)
}

// compare connects to the cluster and compares the chosen primaries.
func (a *app) compare(ctx context.Context, f *diffFlags, d *differ, progress *output.Progress) ([]*primaryDiff, error) {
	config, namespace, err := f.cluster.connect(a.printWarnings())
	if err != nil {
		return nil, err
	}
	config.Wrap(dryrun.Guard)
	if d.live, err = cluster.New(config); err != nil {
		return nil, err
	}
	schemas, err := d.check(ctx)
	if err != nil {
		return nil, err
	}
	kinds := func() (*sim.Kinds, error) { return sim.NewKinds(schemas) }
	d.cluster = dryrun.New(d.live.Client, kinds)
	if d.local = f.noDryRun; d.local {
		d.cluster = dryrun.NewLocal(d.live.Client, kinds)
		d.tell("without dry runs, the output omits what the API server would add, reject or change")
	}
	chosen, err := d.selectPrimaries(ctx)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	of := engine.PreviewOf{Program: d.loaded.Program, Client: d.cluster, Kinds: d.live.Kinds, List: &diffLister{d, chosen}, Namespace: namespace, Namespaces: f.only}
	if err := d.addInventories(ctx, &of); err != nil {
		return nil, err
	}
	if d.preview, err = engine.NewPreview(ctx, of); err != nil {
		return nil, err
	}
	if missing := d.preview.Missing(); len(missing) > 0 {
		d.tell("not compared: objects of rules that are in the inventory but not in these files: %s", strings.Join(missing, ", "))
	}
	compareAll(ctx, chosen, progress)
	return chosen, nil
}

// newDiffer reads the command line.
func (a *app) newDiffer(f *diffFlags, args []string) (*differ, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return nil, exit.Misused("-l: %w", err)
	}
	d := &differ{policy: f.policy(), namespace: f.namespace, selector: selector}
	for _, arg := range args {
		name, ok := cluster.ParseTarget(arg)
		if !ok || name.Name == "" {
			return nil, exit.Misused("%q is not a resource: expected KIND/NAME, such as foo/example", arg)
		}
		d.names = append(d.names, name)
	}
	if err := once(f.rules.paths); err != nil {
		return nil, err
	}
	if d.loaded, err = a.load(f.rules); err != nil {
		return nil, err
	}
	return d, notNo(rejected(judge.Of(d.loaded, nil, d.policy)))
}

// notNo replaces exit code 1, which other commands return for invalid rules. For
// diff, 1 means that there are differences.
func notNo(err error) error {
	if code, _ := exit.Code(err); code == exit.No {
		return exit.Failure(errors.Unwrap(err))
	}
	return err
}

// check returns the schemas of the cluster, or the errors that would keep run from
// starting.
func (d *differ) check(ctx context.Context) (*schema.Set, error) {
	j := d.live.Judge(ctx, d.loaded, d.policy)
	if j.Incomplete != nil {
		d.tell("cannot check the rules against all kinds of the cluster: %v", j.Incomplete)
	}
	if j.Kinds == nil {
		return schema.Builtin(), nil
	}
	return j.Kinds, notNo(rejected(j.Verdict))
}

// compareAll compares several primaries at a time, because each of them mostly
// waits for responses.
func compareAll(ctx context.Context, chosen []*primaryDiff, progress *output.Progress) {
	progress.Total.Store(int64(len(chosen)))
	work := make(chan *primaryDiff)
	var workers sync.WaitGroup
	for range min(len(chosen), 4*runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for p := range work {
				p.run(ctx)
				progress.Step()
			}
		})
	}
	for _, p := range chosen {
		if ctx.Err() != nil {
			break
		}
		work <- p
	}
	close(work)
	workers.Wait()
}

// tellDiff prints the changes and returns the exit code.
func (a *app) tellDiff(f *diffFlags, d *differ, chosen []*primaryDiff) error {
	for _, note := range d.notes {
		a.say("%s", note)
	}
	changes := []change{}
	made := map[objectRef]string{}
	broken := false
	for _, p := range chosen {
		p.contest(made)
		for _, note := range p.notes() {
			a.say("%s", note)
		}
		for _, err := range p.errs {
			a.say("error: %v", err)
		}
		changes, broken = append(changes, p.changes...), broken || len(p.errs) > 0
	}
	result, err := formatDiff(changes, f.output.Value)
	if err != nil {
		return exit.Failure(err)
	}
	if f.output.Value == "unified" && output.IsColoured(a.stdout) {
		result = colour(result)
	}
	if err := a.print(result); err != nil {
		return err
	}
	switch {
	case broken:
		return exit.Silent(exit.Failed) // Each error is already printed.
	case troubled(changes):
		return exit.Silent(exit.Rejected) // Each one is already printed.
	case differs(changes):
		return exit.Silent(exit.No)
	}
	return nil
}
