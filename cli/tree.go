package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/cli/internal/tree"
)

// treeFlags are the flags of tree.
type treeFlags struct {
	rules     ruleFiles
	cluster   clusterFlags
	namespace string
	watch     bool
	output    *settings.Value[string]
}

const treeText = `Print a resource with its children and their children: what belongs to it by owner
references or by the annotation reconcel.dev/owner, also in other namespaces and
cluster-scoped.

  ready        the object is ready
  progressing  it exists, and is not ready yet
  stalled      it has failed, and does not become ready by itself
  done         it has done its work, and no longer exists
  deleting     it is being deleted
  kept         no rule renders it, and it stays: see the condition Kept
  missing      the rule wants it, and it does not exist
  waiting      the rule waits for something before it creates the object
  failed       it cannot be rendered, or another object has its name
  excluded     it reads a child that its when excludes, and is excluded with it
  unread       the kind cannot be listed

The resource itself has the state that status prints. With the rules (-f, or those of
reconcel.yaml), their readyWhen and failWhen decide about children, and children that do
not exist are in the tree. Without them, the kinds of children come from the inventories
in the cluster, and the status of each object decides.

tree lists every kind that the API server serves, once, in the namespaces in which the
resource has objects. Kinds without a status are listed as metadata. The permissions get
and list are enough; -w also needs watch. Kinds that cannot be listed are named. Nothing
is written.

-w prints changes after the tree, until Ctrl-C. -o json and -o yaml print {tree,
problems}. Exit code: 0 the tree is printed, 2 wrong usage, 3 the rules are invalid, the
cluster does not answer, or the resource does not exist.`

func (a *app) treeCommand() *cobra.Command {
	f := &treeFlags{output: settings.Choice("table", "wide", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "tree KIND/NAME",
		Short: "Show a resource with its children and their children",
		Long:  treeText,
		Example: `  reconcel tree foo/example-foo
  reconcel tree -w -f examples/foo/rules.yaml foo/example-foo`,
		ValidArgsFunction: a.completeKinds,
		PreRunE:           inProject,
		RunE:              func(_ *cobra.Command, args []string) error { return a.tree(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.cluster.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the resource (default: that of the kubeconfig context)")
	flags.BoolVarP(&f.watch, "watch", "w", false, "after the tree, print changes until Ctrl-C")
	outputFlag(flags, f.output)
	return cmd
}

// query parses the command line, and loads the rules.
func (a *app) treeQuery(f *treeFlags, args []string) (q tree.Query, err error) {
	if len(args) != 1 {
		return q, exit.Misused("give one resource as KIND/NAME, such as foo/example")
	}
	ok := false
	if q.Target, ok = cluster.ParseTarget(args[0]); !ok || q.Target.Name == "" {
		return q, exit.Misused("%q is not a resource: expected KIND/NAME, such as foo/example", args[0])
	}
	if f.watch && f.output.Value != "table" && f.output.Value != "wide" {
		return q, exit.Misused("-w prints a table and cannot be used with -o %s", f.output.Value)
	}
	q.Program, err = a.statusProgram(f.rules)
	return q, err
}

func (a *app) tree(f *treeFlags, args []string) error {
	q, err := a.treeQuery(f, args)
	if err != nil {
		return err
	}
	config, namespace, err := f.cluster.connect(a.printWarnings())
	if err != nil {
		return err
	}
	q.Namespace = cmp.Or(f.namespace, namespace)
	live, err := cluster.New(config)
	if err != nil {
		return exit.Failure(err)
	}
	ctx, stop := untilSignal()
	defer stop()
	progress := output.StartProgress(a.stderr)
	reader, report, err := readTree(ctx, live, q)
	progress.Stop()
	if err = interrupted(ctx, err); err != nil {
		return err
	}
	table := &tree.Table{Print: a.print, Wide: f.output.Value == "wide", Coloured: output.IsColoured(a.stdout)}
	if err := a.printTree(report, table, f.output.Value); err != nil || !f.watch {
		return err
	}
	if err := reader.Follow(ctx, report, table, a.say); err != nil {
		return exit.Failure(err)
	}
	return nil
}

func readTree(ctx context.Context, live *cluster.Cluster, q tree.Query) (*tree.Reader, *tree.Report, error) {
	reader, err := tree.New(ctx, live, q)
	if err != nil {
		return nil, nil, err
	}
	report, err := reader.Read(ctx)
	return reader, report, err
}

func (a *app) printTree(report *tree.Report, table *tree.Table, format string) error {
	switch format {
	case "json":
		return a.printJSON(report)
	case "yaml":
		return a.printYAML(report)
	}
	if err := table.Write(report.Tree, time.Now()); err != nil {
		return err
	}
	for _, text := range report.Problems {
		a.say("%s", output.Printable(text))
	}
	return nil
}
