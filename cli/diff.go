package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/diff"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/engine/outcome"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	policyFlags
	rules   ruleFiles
	cluster clusterFlags
	installationFlag
	scopeFlags
	selector  string
	deletions *settings.Value[intstr.IntOrString]
	noDryRun  bool
	output    *settings.Value[string]
}

// A diffCommand shows what rules would change in a cluster.
type diffCommand struct {
	out       *printer
	loader    *loader
	completer *completer
}

func (c diffCommand) command() *cobra.Command {
	f := &diffFlags{output: settings.Choice("unified", "json")}
	cmd := &cobra.Command{
		Use:   "diff -f RULES... [KIND/NAME ...]",
		Short: "Show what rules would change in a cluster",
		Long: `Show what run would do for each resource: which objects it would create,
configure, replace, adopt and delete, and what it would write into the resource
itself. diff runs the same controller as run, but sends every write as a dry run:
the result includes defaults and admission, and nothing is written. A child that
reads another child reads the answer to its dry run. Values that the API server
chooses, such as UIDs and cluster IPs, will differ.

Children that still wait, for example until another controller has written a
status, are listed on stderr and are not a difference. So are failures
(an expression, a check), rejected writes, which the API server rejects or for
which another manager has an object of the same name, and rules whose objects
belong to another installation. The output omits managedFields, versions, times,
the status of children, and the conditions Ready, Reconciling and Stalled. It does
not show the values of Secrets.

The output has all changes at once. Notes on stderr name the changes that run holds
until they are approved, and the rules with a rollout.

If run would not start because the rules are invalid for the schemas of the
cluster, diff prints the same message.

Files of single Rules objects, with metadata.name, change only these objects: the rules
of other objects stay as they are. A folder, and files without a name, are all rules of
the installation.

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
		ValidArgsFunction: c.completer.completeKinds,
		PreRunE:           inProject,
		RunE:              func(_ *cobra.Command, args []string) error { return c.diff(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.policyFlags.flags(flags, "compare what run does with this flag, in these namespaces alone; may be repeated "+
		"(default: all)")
	f.scopeFlags.flags(flags)
	flags.StringVarP(&f.selector, "selector", "l", "", "label `selector` of the resources, such as tier=web")
	f.cluster.flags(flags)
	f.installationFlag.flag(flags)
	f.deletions = maxDeletions(flags)
	flags.BoolVar(&f.noDryRun, "no-dry-run", false, "send no dry runs: permissions to read are enough")
	outputFlag(flags, f.output)
	return cmd
}

// diff compares. It reports all mistakes that it can find without a cluster before
// it sends a request.
func (c diffCommand) diff(f *diffFlags, args []string) error {
	options, err := c.diffOptions(f, args)
	if err != nil {
		return err
	}
	live, namespace, err := f.cluster.open(c.out, dryrun.Guard)
	if err != nil {
		return err
	}
	options.Cluster, options.Home = live, namespace
	ctx, stop := untilSignal()
	defer stop()
	var result *diff.Result
	err = c.out.showProgress(ctx, func(progress *output.Progress) error {
		options.Progress = progress
		result, err = diff.Compare(ctx, options)
		return err
	})
	if err != nil {
		return err
	}
	return c.tellDiff(f, result)
}

// diffOptions reads the command line and the rules.
func (c diffCommand) diffOptions(f *diffFlags, args []string) (o diff.Options, err error) {
	if err := errors.Join(f.scopeFlags.check(), f.installationFlag.check()); err != nil {
		return o, err
	}
	o = diff.Options{Source: change.Source{Policy: f.policy(), Local: f.noDryRun, Folders: f.rules.haveFolders()},
		Installation: f.installation,
		MaxDeletions: &f.deletions.Value, Namespace: f.namespace}
	if o.Selector, err = labels.Parse(f.selector); err != nil {
		return o, exit.Misused("-l: %w", err)
	}
	for _, arg := range args {
		target, err := namedTarget(arg, "a resource")
		if err != nil {
			return o, err
		}
		o.Targets = append(o.Targets, target)
	}
	if err := once(f.rules.paths); err != nil {
		return o, err
	}
	if o.Rules, err = c.loader.load(f.rules); err != nil {
		return o, err
	}
	if err := judge.Of(o.Rules, nil, o.Policy).Err(); err != nil {
		return o, exit.Failure(err) // With exit code 1, the answer would be that there are differences.
	}
	return o, nil
}

// tellDiff prints the changes and returns the exit code.
func (c diffCommand) tellDiff(f *diffFlags, result *diff.Result) error {
	for _, note := range result.Notes {
		c.out.say("%s", output.Printable(note))
	}
	err := c.printDiff(f, result)
	switch {
	case err != nil:
		return err
	case result.Broken:
		return exit.Silent(exit.Failed) // Each error is already printed.
	case result.Any(outcome.Action.IsTrouble):
		return exit.Silent(exit.Rejected) // Each one is already printed.
	case result.Any(outcome.Action.IsDifference):
		return exit.Silent(exit.No)
	}
	return nil
}

func (c diffCommand) printDiff(f *diffFlags, result *diff.Result) error {
	if f.output.Value == "json" {
		return c.out.printJSON(result.Changes)
	}
	text := change.Unified(result.Changes)
	if output.IsColoured(c.out.stdout) {
		text = change.Colour(text)
	}
	return c.out.print(text)
}
