package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/settings"
	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/engine/inventory"
)

type uninstallFlags struct {
	cluster         clusterFlags
	namespace, name string
	only            namespaceList
	children        *settings.Value[string]
	dryRun, yes     bool
}

// An uninstallCommand removes what an installation has left in a cluster.
type uninstallCommand struct{ out *printer }

func (c uninstallCommand) command() *cobra.Command {
	f := &uninstallFlags{children: settings.Choice("keep", "delete")}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what an installation has left in a cluster",
		Long: `Remove what reconcel has left in a cluster, after its process has stopped: its
finalizers and status annotations on all resources that rules are or were for, the
ConfigMaps of its bundles, its Lease, its last valid rules, and its inventory. No
rules files are needed: the inventory lists the kinds.

The children stay, unless you give --children=delete. Children with an owner
reference keep it, so Kubernetes deletes them with their resource; other children
stay for good. --children=delete deletes the children that this installation
applied last, and reverts the patches of resources. It keeps, and lists, children
with onDelete: orphan, children of paused resources, and children without the mark
of this installation.

Finalizers and patches stay, and are listed, if the inventory of another installation
has the same rule.

uninstall refuses to run while a process holds the Lease, and stops when one starts.
--dry-run shows what it would do; --yes does it. Afterwards, delete what
"reconcel manifests" prints with kubectl delete -f.

Exit code: 0 done, 2 wrong usage, 3 a process is still running, or something could
not be removed: then the inventory stays, and you can repeat the command.`,
		Example: `  reconcel uninstall -n reconcel-system --dry-run
  reconcel uninstall -n reconcel-system --children=delete --yes`,
		Args: flagsOnly,
		RunE: func(*cobra.Command, []string) error { return c.uninstall(f) },
	}
	flags := cmd.Flags()
	f.cluster.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the installation (default: as for run)")
	flags.StringVar(&f.name, "name", "reconcel", "name of the installation")
	f.only.flag(flags, "search only these namespaces, as for run; may be repeated (default: all)")
	flags.Var(f.children, "children", "what to do with the children")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be removed")
	flags.BoolVar(&f.yes, "yes", false, "confirm the removal")
	return cmd
}

// uninstall prints each step as it is done.
func (c uninstallCommand) uninstall(f *uninstallFlags) error {
	if f.yes == f.dryRun {
		return exit.Misused("use --dry-run to see what would be removed, or --yes to remove it")
	}
	if err := validInstallation(f.namespace, f.name); err != nil {
		return err
	}
	config, namespace, err := f.cluster.connect(rest.NoWarnings{})
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	suffix := ""
	if f.dryRun {
		suffix = " (dry run)"
	}
	namespace = cmp.Or(f.namespace, namespace)
	var lost error
	err = engine.Uninstall(ctx, access.Options{
		Config: config, Log: slog.New(slog.DiscardHandler), Namespace: namespace, Name: f.name, Namespaces: f.only,
	}, engine.Uninstallation{
		DeleteChildren: f.children.Value == "delete", DryRun: f.dryRun,
		Tell: func(object, what string) { lost = errors.Join(lost, c.out.print([]byte(object+" "+what+suffix+"\n"))) },
	})
	if errors.Is(err, engine.ErrNotInstalled) {
		err = namingInstallations(ctx, config, err)
	}
	if err = interrupted(ctx, err); err != nil {
		return err
	}
	return lost
}

// namingInstallations adds to the error about an installation that does not exist which ones do. None of them is
// chosen for the user: what uninstall removes is gone.
func namingInstallations(ctx context.Context, config *rest.Config, err error) error {
	live, failed := cluster.New(config)
	if failed != nil {
		return err
	}
	all, _ := live.Inventories(ctx)
	if len(all) == 0 {
		return err
	}
	return fmt.Errorf("%w; those that exist: %s", err, inventory.Names(all))
}
