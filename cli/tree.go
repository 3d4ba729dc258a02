package cli

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

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
references or by reconcel's annotations, also in other namespaces and cluster-scoped.
An object that several resources share belongs to each of them.

  ready        the object is ready
  progressing  it exists, and is not ready yet
  stalled      it has failed, and does not become ready by itself
  done         it has done its work, and no longer exists
  deleting     it is being deleted
  kept         no rule renders it, and it stays: see the condition Kept
  missing      the rule wants it, and it does not exist
  waiting      the rule waits for something before it applies the object
  failed       it cannot be rendered, or another object has its name
  excluded     it reads a child that its when excludes, and is excluded with it
  unread       the kind cannot be listed

The resource itself has the state that status prints. With the rules (-f, or those of
reconcel.yaml), their readyWhen and failWhen decide about children, and children that do
not exist are in the tree. Without them, the kinds of children come from the inventories
in the cluster, and the status of each object decides. What is wrong with the rules, as
status says it, comes first, on stderr.

tree lists every kind that the API server serves, once, in the namespaces in which the
resource has objects. Kinds without a status are listed as metadata. The permissions get
and list are enough; -w also needs watch. Kinds that cannot be listed are named. Nothing
is written.

-w prints changes after the tree, until Ctrl-C. -o json and -o yaml print {tree,
problems}. Exit code: 0 the tree is printed, 2 wrong usage, 3 the rules are invalid, the
cluster does not answer, or the resource does not exist.`

// A treeCommand shows a resource with what belongs to it.
type treeCommand struct {
	out       *printer
	loader    *loader
	completer *completer
}

func (c treeCommand) command() *cobra.Command {
	f := &treeFlags{output: settings.Choice("table", "wide", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "tree KIND/NAME",
		Short: "Show a resource with its children and their children",
		Long:  treeText,
		Example: `  reconcel tree foo/example-foo
  reconcel tree -w -f examples/foo/rules.yaml foo/example-foo`,
		ValidArgsFunction: c.completer.completeKinds,
		PreRunE:           inProject,
		RunE:              func(_ *cobra.Command, args []string) error { return c.tree(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.cluster.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"namespace of the resource (default: that of the kubeconfig context)")
	flags.BoolVarP(&f.watch, "watch", "w", false, "after the tree, print changes until Ctrl-C")
	outputFlag(flags, f.output)
	return cmd
}

// query parses the command line, and loads the rules.
func (c treeCommand) treeQuery(f *treeFlags, args []string) (q tree.Query, err error) {
	if len(args) != 1 {
		return q, exit.Misused("give one resource as KIND/NAME, such as foo/example")
	}
	if q.Target, err = namedTarget(args[0], "a resource"); err != nil {
		return q, err
	}
	q.Program, err = c.loader.statusProgram(f.rules)
	return q, err
}

func (c treeCommand) tree(f *treeFlags, args []string) error {
	table, err := c.out.table(f.output.Value, f.watch)
	if err != nil {
		return err
	}
	q, err := c.treeQuery(f, args)
	if err != nil {
		return err
	}
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return err
	}
	q.Namespace = cmp.Or(f.namespace, namespace)
	ctx, stop := untilSignal()
	defer stop()
	var reader *tree.Reader
	var report *tree.Report
	err = c.out.showProgress(ctx, func(*output.Progress) error {
		if reader, err = tree.New(ctx, live, q); err == nil {
			report, err = reader.Read(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	c.out.sayRules(ctx, live, namespace)
	if err := c.out.printAs(f.output.Value, report, func() error { return c.printTree(report, table) }); err != nil ||
		!f.watch {
		return err
	}
	if err := reader.Follow(ctx, report, table, c.out.say); err != nil {
		return exit.Failure(err)
	}
	return nil
}

func (c treeCommand) printTree(report *tree.Report, table *output.Table) error {
	if err := tree.Write(table, report.Tree, time.Now()); err != nil {
		return err
	}
	for _, text := range report.Problems {
		c.out.say("%s", output.Printable(text))
	}
	return nil
}
