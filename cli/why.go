package cli

import (
	"cmp"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/cli/internal/why"
	"reconcel/rules"
)

// whyFlags are the flags of why.
type whyFlags struct {
	subjectFlags
	installationFlag
	condition string
	output    *settings.Value[string]
}

const whyText = `Explain where the value of a field comes from: the expressions of the rules, with file,
line and column, and the values that they read, through lets and other children down to
the fields of the resource and of looked-up objects. Without PATH, explain why the object
exists, or why it does not. With --condition, explain a condition of a resource.

KIND/NAME is a resource of the rules or one of its children. If it is both, why explains
a field by the rule that sets it, and --condition is about the resource. PATH is written
as in spec.template.spec.containers[0].image or
spec.template.spec.containers[name=app].image.

The rules are those of -f, or of reconcel.yaml. Without them, they are those that the
installation in the cluster loaded last, as files or as Rules objects.

In a cluster, why also prints the live value, the manager that wrote it last, and what
reconcel does about it:

  in sync               it is as the rules render it
  drift                 another writer changed it: reconcel restores it
  about to change       the rules or their inputs changed
  ignored               by ignoreFields: it belongs to others
  not set by the rules  the API server or another writer sets it
  kept                  the object is not rendered now, or has onChange: keep: it stays as it is
  differs               reconcel does not write it now, for the reason that follows
  paused                it differs, and the resource is paused
  being deleted         the object is, or the resource is and the field differs
  gone                  the object has done its work, and no longer exists

What is wrong with the rules in the cluster, as status says it, comes first, on stderr.

With -r, why renders resources from files as render does, without a cluster. An
expression is shown with the values of this evaluation. What it read may have no effect
alone. What it did not read has none: a field changes only with what why names.

Data of Secrets are withheld, and so are values that are computed from them. The
permissions get and list are enough. Nothing is written.

-o json and -o yaml print all of it. Exit code: 0 the answer is printed, 1 the object or
the field does not exist, or the rules have errors, 2 wrong usage, 3 a file or the cluster
cannot be read.`

// A whyCommand explains fields, objects and conditions.
type whyCommand struct {
	out       *printer
	loader    *loader
	completer *completer
}

func (c whyCommand) command() *cobra.Command {
	f := &whyFlags{output: settings.Choice("text", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "why [-f RULES...] KIND/NAME [PATH]",
		Short: "Explain where a field comes from, or why an object exists",
		Long:  whyText,
		Example: `  reconcel why deployment/example-foo spec.replicas
  reconcel why -f examples/foo/rules.yaml deployment/example-foo spec.replicas
  reconcel why -f examples/foo/rules.yaml -r examples/foo/foo.yaml deployment/example-foo spec.replicas
  reconcel why -f examples/foo/rules.yaml foo/example-foo --condition Ready`,
		ValidArgsFunction: c.completer.completeKinds,
		PreRunE:           inProject,
		RunE:              func(_ *cobra.Command, args []string) error { return c.why(f, args) },
	}
	flags := cmd.Flags()
	f.subjectFlags.flags(flags)
	flags.StringSliceVarP(&f.resources, "resources", "r", nil,
		"`file` or folder of resources to render, or - for stdin, instead of those of a cluster; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"namespace of the object (default: that of the kubeconfig context; with -r any, and default for resources without "+
			"one)")
	f.installationFlag.flag(flags)
	flags.StringVar(&f.condition, "condition", "", "explain the condition of this `type` of a resource")
	outputFlag(flags, f.output)
	return cmd
}

// question parses the arguments.
func (f *whyFlags) question(args []string) (q why.Question, err error) {
	if len(args) < 1 || len(args) > 2 {
		return q, exit.Misused("give one object as KIND/NAME, such as foo/example, and optionally the path of a field")
	}
	if q.Target, err = namedTarget(args[0], "an object"); err != nil {
		return q, err
	}
	if q.Condition = f.condition; len(args) > 1 {
		q.Path = args[1]
	}
	if q.Path != "" && q.Condition != "" {
		return q, exit.Misused("--condition and a path cannot be used together")
	}
	if err := f.installationFlag.check(); err != nil {
		return q, err
	}
	return q, f.subjectFlags.check()
}

func (c whyCommand) why(f *whyFlags, args []string) error {
	q, err := f.question(args)
	if err != nil {
		return err
	}
	ask := c.whyLive
	if len(f.resources) > 0 {
		ask = c.whyOffline
	}
	answer, err := ask(f, q)
	if unknown, is := errors.AsType[*why.UnknownError](err); is {
		return exit.Wrong(unknown)
	}
	if err != nil {
		return err
	}
	return c.out.printAs(f.output.Value, answer, func() error { return c.out.print(answer.Text(time.Now())) })
}

// whyOffline renders resources in files.
func (c whyCommand) whyOffline(f *whyFlags, q why.Question) (*why.Answer, error) {
	j, err := c.loader.accepted(&f.offlineRules)
	if err != nil {
		return nil, err
	}
	r, resources, err := f.prepare(c.loader, c.out, j)
	if err != nil {
		return nil, err
	}
	var all []*why.Subject
	for _, s := range r.Subjects(resources) {
		all = append(all, why.Render(j.File, s.Primary, s.Input))
	}
	q.Namespace = f.namespace
	return why.Ask(all, q, func(id rules.Identity) bool { return q.Target.IsOf(id.GVK, nil) })
}

// whyLive reads a cluster, and without -f also the rules.
func (c whyCommand) whyLive(f *whyFlags, q why.Question) (*why.Answer, error) {
	source := change.Source{Policy: f.policy(), Local: true, Folders: true}
	if len(f.paths) > 0 {
		j, err := c.loader.accepted(&f.offlineRules)
		if err != nil {
			return nil, err
		}
		source.Rules, source.Folders = j.Loaded, f.haveFolders()
	}
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return nil, err
	}
	source.Cluster = live
	ctx, stop := untilSignal()
	defer stop()
	q.Namespace = cmp.Or(f.namespace, namespace)
	var answer *why.Answer
	err = c.out.showProgress(ctx, func(progress *output.Progress) error {
		reader := &why.Reader{Source: source, Installation: f.installation, Home: namespace}
		if reader.Progress = progress; reader.Rules == nil {
			reader.Rules, reader.Installation, err = runningRules(ctx, live, f.installation, namespace)
		}
		if err == nil {
			answer, err = reader.Ask(ctx, q)
		}
		return err
	})
	if err == nil {
		c.out.sayRules(ctx, live, namespace)
	}
	return answer, err
}
