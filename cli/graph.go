package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/graph"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/rendered"
	"reconcel/cli/internal/settings"
	"reconcel/rules"
)

// graphFlags are the flags of graph.
type graphFlags struct {
	subjectFlags
	output *settings.Value[string]
}

// A graphCommand draws rules.
type graphCommand struct {
	out       *printer
	loader    *loader
	completer *completer
}

func (c graphCommand) command() *cobra.Command {
	f := &graphFlags{output: settings.Choice("mermaid", "dot")}
	cmd := &cobra.Command{
		Use:   "graph -f RULES... [KIND[/NAME]]",
		Short: "Draw what the parts of rules read and wait for",
		Long: `Draw a graph of each rule: its resource, lookups and children, and what it writes
into the resource. An arrow points from what is read to its reader. Its text names the
fields, and what they decide:

  when         whether the child exists
  readyWhen    whether the child is ready (or failWhen: whether it has failed)
  when ready   the child is not applied before the other one is ready
  after        likewise, because after says so
  previous     what existed before the reconciliation

A let is not a part: the arrow comes from what the let reads.

With KIND, only the rules for that kind are drawn. With KIND/NAME, the parts have the
colours of their state in the cluster, and with -r those of a resource in a file,
which is rendered without a cluster, as render does:

  ready                 it exists and is ready, or it is up to date
  waiting, progressing  for a value that does not exist yet, or until it is ready
  missing               the rule wants it, and it does not exist
  failed, stalled       an expression or an object has failed, or the name is taken
  excluded              by its when, or because the rule does not select the resource
  unread                it may not be read

The permissions get and list are enough. Nothing is written.

-o mermaid is text for Markdown, and -o dot for Graphviz. Exit code: 0 the graph is
printed, 1 the rules or the resource have errors, 2 wrong usage, 3 a file or the cluster
cannot be read.`,
		Example: `  reconcel graph -f examples/foo/rules.yaml
  reconcel graph -f examples/foo/rules.yaml -r examples/foo/foo.yaml -o dot | dot -Tsvg > foo.svg
  reconcel graph -f examples/foo/rules.yaml foo/example-foo`,
		ValidArgsFunction: c.completer.completeKinds,
		PreRunE:           inProject,
		RunE:              func(_ *cobra.Command, args []string) error { return c.graph(f, args) },
	}
	flags := cmd.Flags()
	f.subjectFlags.flags(flags)
	flags.StringSliceVarP(&f.resources, "resources", "r", nil,
		"`file` with a resource, or - for stdin, instead of KIND/NAME")
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"namespace of the resource (default: that of the kubeconfig context, and default for -r)")
	outputFlag(flags, f.output)
	return cmd
}

// target parses the arguments.
func (f *graphFlags) target(args []string) (target cluster.Target, err error) {
	switch {
	case len(args) > 1:
		return target, exit.Misused("give one KIND or KIND/NAME")
	case len(args) == 1:
		if target, err = anyTarget(args[0]); err != nil {
			return target, err
		}
	}
	if len(f.resources) > 0 && len(args) > 0 {
		return target, exit.Misused("-r and %s cannot be used together", args[0])
	}
	return target, f.check()
}

func (c graphCommand) graph(f *graphFlags, args []string) error {
	target, err := f.target(args)
	if err != nil {
		return err
	}
	j, err := c.loader.accepted(&f.offlineRules)
	if err != nil {
		return err
	}
	var drawn []*graph.Diagram
	switch {
	case len(f.resources) > 0:
		drawn, err = c.graphOfFile(f, j)
	case target.Name != "":
		drawn, err = c.graphOfLive(f, j, target)
	default:
		drawn, err = graphOfKind(j.Program, target)
	}
	if err != nil {
		return err
	}
	text := graph.Mermaid
	if f.output.Value == "dot" {
		text = graph.DOT
	}
	return c.out.print([]byte(text(drawn)))
}

// graphOfKind draws the rules for one kind, or all rules.
func graphOfKind(program *rules.Program, target cluster.Target) ([]*graph.Diagram, error) {
	if target.Text == "" {
		return graph.OfProgram(program), nil
	}
	var all []*graph.Diagram
	for _, p := range program.Primaries() {
		if target.IsOf(p.GVK, nil) {
			all = append(all, graph.OfPrimary(p)...)
		}
	}
	if len(all) == 0 {
		return nil, exit.Misused("%q: no rule is for that kind", target.Text)
	}
	return all, nil
}

// graphOfFile draws the rules for a resource in a file.
func (c graphCommand) graphOfFile(f *graphFlags, j offline.Judged) ([]*graph.Diagram, error) {
	r, found, err := f.prepare(c.loader, c.out, j)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, exit.Wrong(fmt.Errorf("%s: %d objects, expected one", strings.Join(f.resources, ", "), len(found)))
	}
	all := graph.OfObject(j.Program, r, found[0])
	if all == nil {
		return nil, exit.Silent(exit.No) // The reason is already printed.
	}
	return all, nil
}

// graphOfLive draws the rules for a resource of a cluster.
func (c graphCommand) graphOfLive(f *graphFlags, j offline.Judged, target cluster.Target) ([]*graph.Diagram, error) {
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return nil, err
	}
	ctx, stop := untilSignal()
	defer stop()
	all, err := liveGraph(ctx, live, j.Program, target, cmp.Or(f.namespace, namespace))
	return all, interrupted(ctx, err)
}

func liveGraph(ctx context.Context, live *cluster.Cluster, program *rules.Program, target cluster.Target,
	namespace string) ([]*graph.Diagram, error) {
	primary, k, err := live.Primary(ctx, program, target)
	switch {
	case err != nil:
		return nil, err
	case k == nil:
		return nil, exit.Misused("%q: no rule is for that kind", target.Text)
	}
	self, err := live.Named(ctx, k, namespace, target)
	if err != nil {
		return nil, err
	}
	r, err := rendered.Read(ctx, live, cluster.NewLists(live), primary, self)
	if err != nil {
		return nil, err
	}
	out, err := r.Render(ctx)
	if err != nil {
		return nil, err
	}
	return graph.For(out, r.Find), nil
}
