package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"reconcel/engine"
)

// uninstallFlags are the flags of uninstall.
type uninstallFlags struct {
	connection settings
	children   choice
	dryRun     bool
	yes        bool
}

func (a *app) uninstallCommand() *cobra.Command {
	f := &uninstallFlags{children: choice{text: "keep", allowed: []string{"keep", "delete"}}}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take back what an installation has left in a cluster",
		Long: `Remove what reconcel has left in a cluster, after its process has stopped: its
finalizers on all resources that rules are or were for, its Lease, and its
inventory. No rules files are needed: the inventory knows the kinds.

The children stay, unless --children=delete is given. Children with an owner
reference keep it, so Kubernetes deletes them with their resource; other children
stay for good. --children=delete deletes the children that this installation
applied last, and takes back what rules patched into resources. It keeps
children with onDelete: orphan, those of paused resources, those that bear no
mark or that of another installation, and says so.

It refuses to work while a process holds the Lease. --dry-run shows what it
would do; --yes lets it do that. Afterwards delete what "reconcel manifests"
printed with kubectl delete -f.

Exit code: 0 done, 2 wrong usage, 3 a process still works, or something could
not be done: then the inventory stays, and you can repeat the command.`,
		Example: `  reconcel uninstall -n reconcel-system --dry-run
  reconcel uninstall -n reconcel-system --children=delete --yes`,
		Args: flagsOnly,
		RunE: func(*cobra.Command, []string) error { return a.uninstall(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.connection.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config, the Pod's own account)")
	flags.StringVar(&f.connection.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVarP(&f.connection.namespace, "namespace", "n", "", "namespace of the installation (default: as for run)")
	flags.StringVar(&f.connection.name, "name", "reconcel", "name of the installation")
	f.connection.only.flag(flags, "look in these namespaces only, as run did; may be repeated (default: all)")
	flags.Var(&f.children, "children", "what becomes of the children")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	flags.BoolVar(&f.yes, "yes", false, "confirm that it is to be done")
	return cmd
}

// uninstall prints each thing as it is done.
func (a *app) uninstall(f *uninstallFlags) error {
	if f.yes == f.dryRun {
		return misused("give --dry-run to see what would be removed, or --yes to remove it")
	}
	config, namespace, err := connection(&f.connection, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	suffix := ""
	if f.dryRun {
		suffix = " (dry run)"
	}
	var lost error
	err = engine.Uninstall(ctx, engine.Options{
		Config: config, Log: slog.New(slog.DiscardHandler), Namespace: namespace, Name: f.connection.name, Namespaces: f.connection.only,
	}, engine.Uninstallation{
		DeleteChildren: f.children.text == "delete", DryRun: f.dryRun,
		Tell: func(object, what string) { lost = errors.Join(lost, a.print([]byte(object+" "+what+suffix+"\n"))) },
	})
	if err = interrupted(ctx, err); err != nil {
		return err
	}
	return lost
}
