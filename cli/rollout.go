package cli

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
)

// A rolloutCommand shows and steers rollouts of changed rules.
type rolloutCommand struct{ out *printer }

func (c rolloutCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Show, pause, resume or undo rollouts of changed rules",
		Long: `Show, pause, resume or undo the rollouts of changed rules with
rollout.maxUnavailable or rollout.first: a new version reaches the resources in
waves. There is one rollout for each kind of resources. KIND is a kind, such as Foo or Foo.example.com;
without it, the command is about all rollouts.

undo gives the resources that the rollout has reached the version from before. It
stays so until the rules change again, or until resume.

The permissions get and update for the ConfigMap of the inventory are enough.
Exit code: 0 done, 2 wrong usage, 3 there is no such rollout, or the cluster does
not answer.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return exit.Misused("write rollout status, pause, resume or undo")
		},
	}
	for _, s := range []struct {
		name, short, done string
		state             inventory.RolloutState
	}{
		{"status", "Show the rollouts", "", ""},
		{"pause", "Stop rollouts before their next wave", "paused", inventory.Paused},
		{"resume", "Continue rollouts that are paused, failed or undone", "resumed", inventory.Progressing},
		{"undo", "Give the resources that rollouts have reached the version from before", "undone", inventory.Undone},
	} {
		f := &installationFlags{}
		sub := &cobra.Command{
			Use: s.name + " [KIND]", Short: s.short, Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
			Example: "  reconcel rollout " + s.name + " foo -n reconcel-system",
			RunE: func(_ *cobra.Command, kinds []string) error {
				return c.rollout(f, strings.Join(kinds, ""), s.state, s.done)
			},
		}
		f.flags(sub.Flags())
		cmd.AddCommand(sub)
	}
	return cmd
}

// rollout sets the state of the rollouts of a kind, or prints them if the state is "".
func (c rolloutCommand) rollout(f *installationFlags, kind string, state inventory.RolloutState, done string) error {
	ctx, stop := untilSignal()
	defer stop()
	inv, recorded, err := f.read(ctx, c.out.printWarnings())
	if err != nil {
		return err
	}
	matches := slices.DeleteFunc(slices.Sorted(maps.Keys(recorded.Rollouts)), func(name string) bool {
		short, _, _ := strings.Cut(name, ".")
		return kind != "" && !strings.EqualFold(kind, name) && !strings.EqualFold(kind, short)
	})
	switch {
	case len(matches) == 0 && kind != "":
		return exit.Failure(fmt.Errorf("no rollout of %s is in progress", kind))
	case len(matches) == 0 && state != "":
		return exit.Failure(fmt.Errorf("no rollout of the installation %s/%s is in progress; see --namespace and --name",
			f.namespace, f.name))
	}
	if state == "" {
		return c.printRollouts(matches, recorded.Rollouts)
	}
	for _, name := range matches {
		if err := interrupted(ctx, inv.SetRollout(ctx, name, state)); err != nil {
			return exit.Failure(err)
		}
		if err := c.out.print([]byte("rollout of " + name + " " + done + "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (c rolloutCommand) printRollouts(names []string, all map[string]inventory.Rollout) error {
	if len(names) == 0 {
		return c.out.print([]byte("no rollout is in progress\n"))
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tSTATE\tREACHED\tMESSAGE")
	for _, name := range names {
		r := all[name]
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%s\n", name, r.State, r.Updated, r.Resources, rolloutMessage(r))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return c.out.print(b.Bytes())
}

// rolloutMessage says why a rollout has stopped, and how far it is with the resources that come first.
func rolloutMessage(r inventory.Rollout) string {
	var parts []string
	if r.Message != "" {
		parts = append(parts, r.Message)
	}
	if r.First != "" {
		parts = append(parts, fmt.Sprintf("first those with %s: %d of %d", r.First, min(r.Updated, r.FirstResources),
			r.FirstResources))
	}
	return strings.Join(parts, "; ")
}
