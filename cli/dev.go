package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/dev"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/filewatch"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/ruletest"
	"reconcel/cli/internal/settings"
	"reconcel/deploy"
	"reconcel/engine"
	"reconcel/rules"
	"reconcel/rules/source"
	apiserver "reconcel/sim/server"
)

// A devCommand serves a cluster in memory, in which the rules run.
type devCommand struct {
	out    *printer
	loader *loader
}

// devFlags are the flags of dev.
type devFlags struct {
	runFlags
	crds, objects []string
	kubeconfig    string // to write
	port          *settings.Value[int]
	ready         *settings.Value[settings.Span]
	failures      []string
}

func (f *devFlags) flags(flags *pflag.FlagSet) {
	f.runFlags.flags(pflag.NewFlagSet("run", pflag.ContinueOnError)) // The other settings have their defaults.
	f.logLevel.Value, f.listen.Value = "warn", settings.Off
	f.rules.flags(flags)
	f.objectsFlag(flags)
	flags.StringSliceVar(&f.crds, "crd", nil,
		"`file` or folder of CustomResourceDefinitions; may be repeated (default: those in the folders of rules)")
	flags.StringSliceVarP(&f.objects, "resources", "r", nil, "`file` or folder of objects; may be repeated")
	f.policyFlags.flags(flags, "the controller watches only these namespaces; may be repeated (default: all)")
	f.port, f.ready = settings.Port(), settings.DurationOrNever(time.Second)
	flags.Var(f.port, "port", "port on 127.0.0.1; 0: any free one")
	flags.StringVar(&f.kubeconfig, "write-kubeconfig", "",
		"`file` to create for the kubeconfig, which must not exist (default: one in a new temporary folder)")
	flags.Var(f.ready, "ready-after", "time until workloads are ready, Jobs complete and Pods run; never: until you "+
		"write their status")
	flags.StringArrayVar(&f.failures, "fail", nil, "`request` of the controller that fails, such as "+
		"verb=apply,kind=Deployment,times=3,error=Forbidden: the keys of fail in a test; may be repeated")
	flags.Var(f.logLevel, "log-level", "lowest level to log")
	flags.Var(f.logFormat, "log-format", "format of the log")
}

func (c devCommand) command() *cobra.Command {
	f := &devFlags{}
	cmd := &cobra.Command{
		Use:   "dev [-f RULES...]",
		Short: "Serve a cluster in memory, in which rules run",
		Long: `Serve Kubernetes' API for a cluster in memory, and run the controller with your rules
in it, until Ctrl-C. kubectl, the other commands and your own programs work with it as
with any cluster. It starts in a second and leaves nothing behind.

The first line is the command that points kubectl to the cluster. The kubeconfig is a
file of its own, with a token that is new at each start, and is removed at the end. The
server listens on 127.0.0.1 only.

CRDs and the objects of -r are applied at the start, and again when their files change.
Objects that you remove from the files are deleted; CRDs stay. Rules are reloaded as by
run. Mistakes in a file are reported, and the cluster stays as it is until you mend them.
With --rules-objects, the cluster serves Rules objects, and the controller follows them.

Nothing runs in Pods. Deployments and other workloads become ready after --ready-after,
without Pods of theirs. Every client may do everything: there is no RBAC. There are no
admission webhooks or policies.

"reconcel dev advance 1h" moves the clock of the cluster and the controller ahead.

Exit code: 0 stopped by a signal, 1 rules from stdin are invalid, 2 wrong usage, 3 the
kubeconfig cannot be written, or the port is in use.`,
		Example: `  reconcel dev -f examples/foo/rules.yaml --crd crds
  reconcel dev -f rules.yaml --crd crd.yaml -r example.yaml --fail verb=apply,times=3,error=Forbidden`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE:    func(*cobra.Command, []string) error { return c.dev(f) },
	}
	f.flags(cmd.Flags())
	cmd.AddCommand(c.advanceCommand())
	return cmd
}

func (c devCommand) advanceCommand() *cobra.Command {
	f := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "advance DURATION",
		Short: "Move the clock of a cluster of dev ahead",
		Long: `Move the clock of a cluster that "reconcel dev" serves ahead, such as by 90s or 24h. What
is due in that time happens: workloads become ready, finished Jobs are deleted, and rules
with schedules, requeueAfter or elapsed are evaluated at their times. The command returns
when nothing changes any more.

Ages that kubectl computes itself, as in describe and events, still go by the clock of
the machine.

Exit code: 0 done, 2 wrong usage, 3 the cluster is not served by dev, or does not answer.`,
		Example: `  reconcel dev advance 1h`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			by, err := time.ParseDuration(args[0])
			if err != nil || by <= 0 {
				return exit.Misused("%q is not a time to pass, such as 90s or 24h", args[0])
			}
			return c.advance(f, by)
		},
	}
	f.flags(cmd.Flags())
	return cmd
}

// advance moves the clock of a server that another process has.
func (c devCommand) advance(f *clusterFlags, by time.Duration) error {
	config, _, err := f.connect(c.out.printWarnings())
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	now, err := dev.Advance(ctx, config, by)
	if err != nil {
		return interrupted(ctx, err)
	}
	return c.out.print(fmt.Appendf(nil, "it is %s\n", now.UTC().Format(time.RFC3339)))
}

// dev serves until a signal arrives.
func (c devCommand) dev(f *devFlags) error {
	if err := once(f.rules.paths); err != nil {
		return err
	}
	if watched := slices.Concat(f.crds, f.objects); len(watched) > 0 && files.Reloadable(watched) == nil {
		return exit.Misused("--crd and -r are applied again when they change, so they must be files or folders")
	}
	log := newLog(c.out.stderr, &f.runFlags)
	ctx, stop := untilSignal()
	defer stop()
	served, err := dev.Start(dev.Options{Port: f.port.Value, ReadyAfter: time.Duration(f.ready.Value),
		Problem: func(err error) { log.Error("CRD not served", "error", err) }})
	if err != nil {
		return exit.Failure(explained(err))
	}
	defer served.Stop()
	content := &dev.Files{Cluster: served.Cluster, Reader: c.loader.reader(f.rules), Rules: f.rules.paths, CRDs: f.crds,
		Objects: f.objects}
	seen := c.apply(ctx, content)
	if ctx.Err() != nil {
		return nil // A signal has ended the start.
	}
	if f.rulesObjects {
		if err := defineRules(ctx, served); err != nil {
			return exit.Failure(err)
		}
	}
	loaded, program := rules.Compile(nil), &rules.Program{}
	if len(f.rules.paths) > 0 {
		if loaded, err = c.loader.load(f.rules); err != nil {
			return err
		}
		program = cmp.Or(loaded.Program, program)
	}
	served.Config.UserAgent = "reconcel/" + builtFrom().Version + " (dev)" // The other commands have another one.
	for _, text := range f.failures {
		failure, err := ruletest.ParseFailure(text, "reconcel dev --fail", program, served.Cluster.Kinds())
		if err != nil {
			return exit.Misused("--fail %s: %w", text, err)
		}
		failure.By = served.Config.UserAgent
		served.Cluster.Fail(failure)
	}
	if err := c.introduce(f, served); err != nil {
		return err
	}
	for gvk := range program.UsedKinds() {
		if served.Cluster.Kinds().Kind(gvk) == nil {
			c.out.say("The rules wait for %s in %s: give its CRD with --crd, or create it.", gvk.Kind, gvk.GroupVersion())
		}
	}
	var following sync.WaitGroup
	defer following.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	following.Go(func() {
		for seen.Wait(ctx) != "" {
			seen = c.apply(ctx, content)
		}
	})
	if len(f.rules.paths) == 0 && !f.rulesObjects {
		<-ctx.Done()
		return nil
	}
	return controller{
		runFlags: &f.runFlags, out: c.out, loader: c.loader, loaded: loaded,
		invalid: rejected(loaded, judge.Of(loaded, nil, f.policy())), log: log, config: served.Config, namespace: "default",
		server: &server{}, debug: &server{}, clock: served.Clock,
		last: f.last,
	}.run(ctx, stop)
}

// defineRules creates the CustomResourceDefinition of Rules objects.
func defineRules(ctx context.Context, served *dev.Server) error {
	text, err := deploy.RulesDefinition().YAML()
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &u.Object); err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	_, err = served.Cluster.Client("reconcel-dev").Resource(definitions).Create(ctx, u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // It is in the files.
	}
	return err
}

// last lets a process with invalid rules start without any, and wait, if their files can be mended.
func (f *devFlags) last(*engine.Engine) func(context.Context) ([]source.File, error) {
	if files.Reloadable(f.rules.paths) == nil && !f.rulesObjects {
		return nil
	}
	return func(context.Context) ([]source.File, error) { return []source.File{}, nil }
}

// apply makes the cluster follow the files, and returns what it has read.
func (c devCommand) apply(ctx context.Context, content *dev.Files) *filewatch.Seen {
	seen, wrong := content.Apply(ctx)
	if wrong.Err() != nil && ctx.Err() == nil {
		c.out.complain(wrong)
	}
	return seen
}

// introduce writes the kubeconfig, and prints how to use the cluster.
func (c devCommand) introduce(f *devFlags, served *dev.Server) error {
	path, err := served.WriteKubeconfig(f.kubeconfig)
	if err != nil {
		return exit.Failure(explained(err))
	}
	if strings.ContainsAny(path, " \t'\"$`\\&;|<>()*?[]#~!") {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	err = c.out.print([]byte("export KUBECONFIG=" + path + "\n"))
	c.out.say("Kubernetes %s in memory at %s, until Ctrl-C.", apiserver.KubernetesVersion, served.Config.Host)
	c.out.say("It has no Pods that run, no RBAC, and no admission webhooks. Move its clock with: reconcel dev advance 1h")
	return err
}

// explained returns why a server does not start, with what to do.
func explained(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: choose another port with --port", err)
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: it may be the kubeconfig of another cluster; remove it, or choose another with "+
			"--write-kubeconfig", err)
	}
	return err
}
