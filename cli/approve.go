package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
)

// installationFlags select the objects that an installation keeps for itself.
type installationFlags struct {
	cluster         clusterFlags
	namespace, name string
}

func (f *installationFlags) flags(flags *pflag.FlagSet) {
	f.cluster.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the installation (default: as for run)")
	flags.StringVar(&f.name, "name", "reconcel", "name of the installation")
}

// read returns the inventory of the installation, and what it has.
func (f *installationFlags) read(ctx context.Context,
	warnings *warnings) (*inventory.Inventory, *inventory.Recorded, error) {
	if err := validInstallation(f.namespace, f.name); err != nil {
		return nil, nil, err
	}
	config, namespace, err := f.cluster.connect(warnings)
	if err != nil {
		return nil, nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, exit.Failure(fmt.Errorf("client configuration: %w", err))
	}
	f.namespace = cmp.Or(f.namespace, namespace)
	inv := inventory.New(client, inventory.Options{Namespace: f.namespace, Installation: f.name,
		FieldManager: "reconcel"})
	recorded, err := inv.Recorded(ctx)
	if err = interrupted(ctx, err); err != nil {
		return nil, nil, exit.Failure(err)
	}
	return inv, recorded, nil
}

// An approveCommand approves changes of rules that are held.
type approveCommand struct{ out *printer }

func (c approveCommand) command() *cobra.Command {
	f := &installationFlags{}
	cmd := &cobra.Command{
		Use:   "approve [HASH ...]",
		Short: "Let a changed rule take effect that would delete many objects",
		Long: `Let a changed rule take effect although it deletes or replaces more objects than
rollout.maxDeletions or --max-deletions allows. Until then, reconcel reconciles the
rule as it was: the condition Held of its resources, an Event, the log and the
metric reconcel_rule_held say so.

A hash stands for one change of one rule. If the rule changes again before the
approval, the new change has another hash. Without a hash, approve lists the
changes that are held.

approve needs the permissions get and update for the ConfigMap of the inventory.
Exit code: 0 done, 2 wrong usage, 3 no such change is held, or the cluster does not
answer.`,
		Example: `  reconcel approve -n reconcel-system
  reconcel approve 3f9c2a71d0 -n reconcel-system`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, hashes []string) error { return c.approve(f, hashes) },
	}
	f.flags(cmd.Flags())
	return cmd
}

func (c approveCommand) approve(f *installationFlags, hashes []string) error {
	ctx, stop := untilSignal()
	defer stop()
	inv, recorded, err := f.read(ctx, c.out.printWarnings())
	if err != nil {
		return err
	}
	if len(hashes) == 0 {
		return c.out.print([]byte(heldChanges(recorded.Held)))
	}
	for _, hash := range hashes {
		err := interrupted(ctx, inv.Approve(ctx, hash))
		if errors.Is(err, inventory.ErrNotHeld) {
			return exit.Failure(fmt.Errorf("no change with the hash %s is held; %s", hash,
				strings.TrimSpace(heldChanges(recorded.Held))))
		}
		if err != nil {
			return exit.Failure(err)
		}
		if err := c.out.print([]byte("change " + hash + " approved\n")); err != nil {
			return err
		}
	}
	return nil
}

func heldChanges(held []inventory.HeldChange) string {
	if len(held) == 0 {
		return "no change is held\n"
	}
	var b strings.Builder
	for _, h := range held {
		fmt.Fprintf(&b, "%s  rule %s for %s: %s\n", h.Hash, h.Rule, h.Kind, h.Message)
	}
	return b.String()
}
