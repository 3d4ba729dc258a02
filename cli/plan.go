package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/dump"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/findings"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/plan"
	"reconcel/cli/internal/settings"
	"reconcel/rules"
	"reconcel/sim"
	"reconcel/sim/world"
)

// planFlags are the flags of plan.
type planFlags struct {
	offlineRules
	cluster clusterFlags
	installationFlag
	deletions *settings.Value[intstr.IntOrString]
	against   []string
	observed  []string
	noDryRun  bool
	output    *settings.Value[string]
}

// A planCommand summarizes what a change of rules does to a cluster.
type planCommand struct {
	out    *printer
	loader *loader
}

func (c planCommand) command() *cobra.Command {
	f := &planFlags{output: settings.Choice("text", findings.JSON, "markdown", findings.SARIF, findings.GitHub)}
	cmd := &cobra.Command{
		Use:   "plan -f RULES...",
		Short: "Summarize what a change of rules does to a whole cluster",
		Long: `Compare rules with those that run, for all resources of the cluster, and print what
happens when reconcel loads them: how many objects of each kind are created,
configured, replaced, deleted and orphaned, which conditions change, and which
permissions are new or no longer needed. Then come the risks with their diffs: what
deletes data, replaces objects, may cut off traffic, restarts or stops Pods, and what is no
longer kept when its resource is deleted. Other changes are grouped by their fields.

plan reconciles the same resources as a reload does, with the controller of run.
Each write is a dry run, as in diff: nothing is written. What the running rules do
anyway, such as the repair of drift, is not part of the plan.

The running rules come from the inventory of the installation, or from --against.
Without them, plan compares with the live state, as diff does.

Files of single Rules objects, with metadata.name, change only these objects: the rules
of other objects stay as they are. A folder, and files without a name, are all rules of
the installation.

With --no-dry-run, permissions to read are enough, and plan computes the result of
each write itself. It then cannot know what the API server or a webhook rejects or
adds. --observed compares with a dump of objects, without a cluster: what kubectl get
-o json --show-managed-fields prints of the resources, their children and the
ConfigMaps of reconcel. With it, the kinds come from --crd.

Values in Secrets do not appear. What rules copy from them into other objects does, as in
the cluster. -o markdown prints a comment for a pull request, and -o json everything,
with the names of all objects. -o github and -o sarif print what fails, the risks and the
held changes at the rules that cause them.

Exit code: 0 no object changes, 1 objects change, 2 wrong usage, 3 the rules are
invalid, or the cluster or a file cannot be read, 4 a write is rejected or something
fails that the running rules do not fail at.`,
		Example: `  reconcel plan -f rules/
  reconcel plan -f rules/ --against main/rules/ -o markdown
  reconcel plan -f rules/ --observed dump.json --crd crds/`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE:    func(*cobra.Command, []string) error { return c.plan(f) },
	}
	flags := cmd.Flags()
	f.offlineRules.flags(flags, "plan what run does with this flag, in these namespaces alone; may be repeated "+
		"(default: all)")
	flags.StringSliceVar(&f.against, "against", nil,
		"`file` or folder of the rules that run; may be repeated (default: those of the cluster)")
	flags.StringSliceVar(&f.observed, "observed", nil,
		"`file` or folder of the objects in the cluster, instead of a cluster; may be repeated")
	f.installationFlag.flag(flags)
	f.deletions = maxDeletions(flags)
	flags.BoolVar(&f.noDryRun, "no-dry-run", false, "send no dry runs: permissions to read are enough")
	f.cluster.flags(flags)
	outputFlag(flags, f.output)
	return cmd
}

// plan reports all mistakes that it can find without a cluster before it sends a request.
func (c planCommand) plan(f *planFlags) error {
	limitMemory(os.DirFS("/"))
	options, err := c.planOptions(f)
	if err != nil {
		return err
	}
	if len(f.observed) > 0 {
		err = c.observe(f, &options)
	} else {
		options.Cluster, options.Home, err = f.cluster.open(c.out, dryrun.Guard)
	}
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	var report *plan.Report
	err = c.out.showProgress(ctx, func(progress *output.Progress) error {
		options.Progress = progress
		report, err = plan.Compare(ctx, options)
		return err
	})
	if err != nil {
		return err
	}
	return c.tellPlan(f, options.Rules.Program, report)
}

// planOptions reads the command line and the rules.
func (c planCommand) planOptions(f *planFlags) (o plan.Options, err error) {
	o = plan.Options{Source: change.Source{Policy: f.policy(), Local: f.noDryRun || len(f.observed) > 0,
		Folders: f.haveFolders()},
		Installation: f.installation, MaxDeletions: &f.deletions.Value}
	if err := f.check(); err != nil {
		return o, err
	}
	if err := once(f.paths, f.against, f.observed, f.crds); err != nil {
		return o, err
	}
	if o.Rules, err = c.loader.load(f.ruleFiles); err != nil {
		return o, err
	}
	if err := judge.Of(o.Rules, nil, o.Policy).Err(); err != nil {
		return o, exit.Failure(err) // With exit code 1, the answer would be that objects change.
	}
	if len(f.against) == 0 {
		return o, nil
	}
	before := ruleFiles{paths: f.against, recursive: f.recursive}
	if o.Against, err = c.loader.load(before); err != nil {
		return o, err
	}
	if err := o.Against.Errors.Err(); err != nil {
		return o, exit.Failure(err)
	}
	o.AgainstName = strings.Join(f.against, ", ")
	return o, nil
}

// observe sets a cluster that has the objects of a dump.
func (c planCommand) observe(f *planFlags, o *plan.Options) error {
	from, crds := c.loader.reader(f.ruleFiles), f.crds
	if len(crds) == 0 {
		crds = from.Definitions(f.paths)
	}
	known, err := offline.ReadKinds(from, crds)
	if err != nil {
		return exit.Failure(err)
	}
	kinds, err := sim.NewKinds(known.Set)
	if err != nil {
		return exit.Failure(err)
	}
	objects := dump.New(kinds)
	if err := from.Stream(f.observed, objects.Add); err != nil {
		return err
	}
	if err := objects.Sort(); err != nil {
		return exit.Failure(err)
	}
	if n := objects.Unowned(); n > 0 {
		return exit.Failure(fmt.Errorf("%s of rules without managedFields in %s: give kubectl get the flag "+
			"--show-managed-fields",
			output.Plural(n, "object"), strings.Join(f.observed, ", ")))
	}
	if unknown := objects.Unknown(); len(unknown) > 0 {
		c.out.say("left out, because no CRD given with --crd defines the kind: %s", strings.Join(unknown, ", "))
	}
	o.Cluster, o.Schemas = &cluster.Cluster{Client: objects, Kinds: world.KindsOf(kinds)}, known.Set
	return nil
}

// tellPlan prints the report on rules and returns the exit code.
func (c planCommand) tellPlan(f *planFlags, p *rules.Program, r *plan.Report) error {
	var err error
	switch f.output.Value {
	case findings.JSON:
		err = c.out.printJSON(r)
	case findings.SARIF:
		err = c.out.printJSON(findings.Log(builtFrom().Version, findings.Plan(r, p)))
	case findings.GitHub:
		err = c.out.print(findings.Annotations(findings.Plan(r, p)))
	case "markdown":
		err = c.out.print(r.Markdown())
	default:
		err = c.out.print(r.Text())
	}
	switch {
	case err != nil:
		return err
	case len(r.Errors) > 0:
		return exit.Failure(errors.New("the plan is incomplete: " + r.Errors[0]))
	case r.HasTrouble():
		return exit.Silent(exit.Rejected) // The report has each one.
	case r.Differs():
		return exit.Silent(exit.No)
	}
	return nil
}
