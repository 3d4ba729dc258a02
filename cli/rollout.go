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

The command looks in all installations of the cluster, unless you give -n or --name.
status shows the rollouts of all; the others need that one installation has the
rollout. They need the permissions get and update for the ConfigMap of the inventory,
and list for ConfigMaps to find it without -n and --name.
Exit code: 0 done, 2 wrong usage, or several installations have the rollout, 3 there
is no such rollout or installation, or the cluster does not answer.`,
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
			Example: "  reconcel rollout " + s.name + " foo",
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
	found, err := f.find(ctx, c.out)
	if err != nil {
		return err
	}
	what := "rollout"
	if kind != "" {
		what += " of " + kind
	}
	for _, i := range found.all {
		maps.DeleteFunc(i.rollouts, func(name string, _ inventory.Rollout) bool {
			short, _, _ := strings.Cut(name, ".")
			return kind != "" && !strings.EqualFold(kind, name) && !strings.EqualFold(kind, short)
		})
	}
	has := func(i installation) bool { return len(i.rollouts) > 0 }
	none := fmt.Errorf("no %s is in progress in %s", what, found.names())
	switch {
	case state == "" && slices.ContainsFunc(found.all, has):
		return found.done(c.printRollouts(found))
	case state == "" && kind == "":
		return found.done(c.out.print([]byte(none.Error() + "\n")))
	}
	i, err := found.only("a "+what, has, none)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(i.rollouts)) {
		if err := interrupted(ctx, i.SetRollout(ctx, name, state)); err != nil {
			return exit.Failure(err)
		}
		if err := c.out.print([]byte("rollout of " + name + " " + done + "\n")); err != nil {
			return err
		}
	}
	return nil
}

// printRollouts prints the rollouts. Of several installations, it names those that have them.
func (c rolloutCommand) printRollouts(found installations) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	column := func(text string) string {
		if len(found.all) == 1 {
			return ""
		}
		return text + "\t"
	}
	fmt.Fprintln(w, column("INSTALLATION")+"KIND\tSTATE\tREACHED\tMESSAGE")
	for _, i := range found.all {
		for _, name := range slices.Sorted(maps.Keys(i.rollouts)) {
			r := i.rollouts[name]
			fmt.Fprintf(w, "%s%s\t%s\t%d of %d\t%s\n", column(i.Name()), name, r.State, r.Updated, r.Resources,
				rolloutMessage(r))
		}
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
