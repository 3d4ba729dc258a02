package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
)

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

The annotation reconcel.dev/approve of a Rules object approves changes of its rules,
too: its value has their hashes, separated by spaces or commas.

approve looks in all installations of the cluster, unless you give -n or --name.
It needs the permissions get and update for the ConfigMap of the inventory, and list
for ConfigMaps to find it without -n and --name.
Exit code: 0 done, 2 wrong usage, or several installations hold the change, 3 no such
change is held, there is no such installation, or the cluster does not answer.`,
		Example: `  reconcel approve
  reconcel approve 3f9c2a71d0
  reconcel approve 3f9c2a71d0 -n reconcel-system --name reconcel`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, hashes []string) error { return c.approve(f, hashes) },
	}
	f.flags(cmd.Flags())
	return cmd
}

func (c approveCommand) approve(f *installationFlags, hashes []string) error {
	ctx, stop := untilSignal()
	defer stop()
	found, err := f.find(ctx, c.out)
	if err != nil {
		return err
	}
	if len(hashes) == 0 {
		return found.done(c.out.print([]byte(found.heldChanges())))
	}
	for _, hash := range hashes {
		none := fmt.Errorf("no change with the hash %s is held; %s", hash, strings.TrimSpace(found.heldChanges()))
		i, err := found.only("the change "+hash, func(i installation) bool {
			return slices.ContainsFunc(i.held, func(h inventory.HeldChange) bool { return h.Hash == hash })
		}, none)
		if err != nil {
			return err
		}
		if err := interrupted(ctx, i.Approve(ctx, hash)); errors.Is(err, inventory.ErrNotHeld) {
			return exit.Failure(none) // It was held a moment ago.
		} else if err != nil {
			return exit.Failure(err)
		}
		if err := c.out.print([]byte("change " + hash + " approved\n")); err != nil {
			return err
		}
	}
	return nil
}

// heldChanges lists the changes that are held. Of several installations, it names those that hold them.
func (all installations) heldChanges() string {
	var b strings.Builder
	for _, i := range all.all {
		for _, h := range i.held {
			where := ""
			if len(all.all) > 1 {
				where = i.Name() + ": "
			}
			fmt.Fprintf(&b, "%s  %srule %s for %s: %s\n", h.Hash, where, h.Rule, h.Kind, h.Message)
		}
	}
	if b.Len() == 0 {
		return "no change is held in " + all.names() + "\n"
	}
	return b.String()
}
