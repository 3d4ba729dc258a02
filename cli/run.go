package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/settings"
	"reconcel/engine"
	"reconcel/engine/leader"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A runCommand runs the controller.
type runCommand struct {
	out    *printer
	loader *loader
}

func (c runCommand) command() *cobra.Command {
	s := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [-f RULES...]",
		Short: "Run the controller",
		Long: `Watch the resources that the rules select, and keep their children and status as
the rules describe, until SIGTERM or SIGINT. A second signal exits at once.

When the rules files change, reconcel reloads them. Invalid rules are reported, and
the last valid rules stay active. A process that starts with invalid rules works with
those that were valid last in the same files.

With --rules-objects, each Rules object in the namespace of reconcel's own objects is a
rules file, too. An object that is invalid stops only its own change. Its status says why.

Every flag below is also a setting: --log-level, for example, is RECONCEL_LOG_LEVEL
in the environment and log-level in reconcel.yaml. A flag takes precedence over the
environment, the environment over the file, and the file over the default. An empty
variable counts as not set. The file is reconcel.yaml in the working directory, or the
one that --config or RECONCEL_CONFIG names; paths in it are relative to it.

Before it changes anything, run checks the rules against the schemas of the
cluster, as validate --crd does with CRDs, and exits if they were never valid. Rules for
kinds that the cluster does not serve yet wait for them.

With --namespaced, run watches only some namespaces and needs only Roles in them.
The rules can then have no cluster-scoped kinds.

With --dry-run, run writes nothing, and needs only permissions to read. It takes no
Lease and sends no Events. It logs and counts what it would write, and prints at the end
what it would write then.

The cluster is found as by kubectl: --kubeconfig, KUBECONFIG, ~/.kube/config, and
inside a Pod its ServiceAccount.

Exit code: 0 stopped by a signal, 1 the rules were never valid, 2 wrong usage or
settings, 3 a file cannot be read, no cluster is configured, the address is in use,
or the leadership of the process has ended.`,
		Example: `  reconcel run -f examples/foo/rules.yaml --log-level debug`,
		Args:    flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.Resolve(cmd.Flags()); err != nil {
				return err
			}
			return c.inLog(s, c.run(s))
		},
	}
	cmd.Flags().String(settings.ConfigFlag, "", "settings `file` (default: reconcel.yaml, if there is one)")
	s.flags(cmd.Flags())
	return cmd
}

// run reconciles until a signal arrives.
func (c runCommand) run(s *runFlags) error {
	if err := once(s.rules.paths); err != nil {
		return err
	}
	if err := validInstallation(s.namespace, s.name); err != nil {
		return err
	}
	if s.pprof && s.debug.Value == settings.Off {
		return exit.Misused("--pprof needs --debug-listen, such as --debug-listen=127.0.0.1:6060")
	}
	limitMemory(os.DirFS("/"))
	loaded, err := c.load(s)
	if err != nil {
		return err
	}
	invalid := rejected(loaded, judge.Of(loaded, nil, s.policy()))
	if invalid != nil && s.dryRun {
		return invalid
	}
	log := newLog(c.out.stderr, s)
	config, namespace, err := s.connect(&warnings{print: func(ctx context.Context, text string) {
		log.WarnContext(ctx, "warning from the API server", "warning", text)
	}})
	if err != nil {
		return cmp.Or(invalid, err)
	}
	namespace = cmp.Or(s.namespace, namespace)
	s.limitRate(config)
	server, err := listen("--listen", s.listen.Value)
	if err != nil {
		return err
	}
	debug, err := listenDebug(s.debug.Value)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	return controller{
		runFlags: s, out: c.out, loader: c.loader, loaded: loaded, invalid: invalid, log: log, config: config,
		namespace: namespace, server: server, debug: debug, leadership: leadership(s, log), last: s.last,
	}.run(ctx, stop)
}

// load reads the rules files. Without any, there are Rules objects.
func (c runCommand) load(s *runFlags) (*rules.Loaded, error) {
	if s.rulesObjects && len(s.rules.paths) == 0 {
		return rules.Compile(nil), nil
	}
	return c.loader.load(s.rules)
}

// leadership returns the options of leader election, or nil without --leader-elect.
func leadership(s *runFlags, log *slog.Logger) *leader.Options {
	if !s.lead {
		return nil
	}
	return &leader.Options{
		// Unique and not guessable, so that no other process can hold the Lease under this identity.
		Identity: hostname() + "_" + string(uuid.NewUUID()),
		Labels:   map[string]string{rules.LabelManagedBy: rules.ManagedBy},
		Lost: func(err error) {
			log.Error("leadership ended, exiting", "error", err)
			os.Exit(exit.Failed)
		},
	}
}

// origin identifies the source of all rules. That of Rules objects is the same everywhere, as an installation has
// those of one namespace.
func (s *runFlags) origin() string {
	const objects = "Rules objects"
	switch {
	case !s.rulesObjects:
		return origin(s.rules.paths)
	case len(s.rules.paths) == 0:
		return objects
	}
	return origin(s.rules.paths) + " and " + objects
}

// origin identifies the source of rules: two processes have the same origin only if
// they read the same files. In a Pod, the paths alone decide, because every Pod has
// its own host name.
func origin(paths []string) string {
	var from []string
	for _, path := range paths {
		path = strings.TrimSpace(path)
		if files.Reloadable([]string{path}) == nil {
			return "pipe " + string(uuid.NewUUID()) // A pipe holds other rules each time.
		}
		if full, err := filepath.Abs(path); err == nil {
			path = full
		}
		from = append(from, path)
	}
	slices.Sort(from)
	from = slices.Compact(from)
	text := from[0]
	if n := len(from) - 1; n > 0 {
		// The inventory stores the origin of each rule, so the text must be short.
		sum := sha256.Sum256([]byte(strings.Join(from, "\n")))
		text = fmt.Sprintf("%s and %d more (%x)", from[0], n, sum[:6])
	}
	if inPod() {
		return text
	}
	return hostname() + ":" + text
}

// last returns how a process finds the rules that were active last. A dry run tries its own rules and no others.
func (s *runFlags) last(machine *engine.Engine) func(context.Context) ([]source.File, error) {
	if s.dryRun {
		return nil
	}
	return machine.LastFiles
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
