package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/filewatch"
)

// repeating is the flag -w of a command that reads files.
type repeating struct{ watch bool }

func (r *repeating) flags(flags *pflag.FlagSet) {
	flags.BoolVarP(&r.watch, "watch", "w", false, "run again whenever a file changes, until Ctrl-C")
}

// A repeater runs a command again whenever something that its loader has read changes.
type repeater struct {
	out    *printer
	loader *loader
}

// repeat runs a command that reads these paths, again and again with -w. A signal ends it
// with success.
func (r *repeater) repeat(f repeating, cmd *cobra.Command, run func() error, paths ...[]string) error {
	if !f.watch {
		return run()
	}
	if slices.Contains(slices.Concat(paths...), files.Stdin) {
		return exit.Misused("-w watches files, and - is stdin")
	}
	ctx, stop := untilSignal()
	defer stop()
	cmd.SetContext(ctx)
	for {
		seen := &filewatch.Seen{}
		r.loader.seen = seen.Add
		err := run()
		if code, coded := exit.Code(err); err != nil && (!coded || code == exit.Usage) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		r.out.conclude(cmd, err)
		r.out.say("[%s] watching for changes", timeOfDay())
		changed := seen.Wait(ctx)
		if changed == "" {
			return nil
		}
		r.out.say("\n[%s] %s changed", timeOfDay(), changed)
	}
}

// timeOfDay returns the time of day, as people read it beside their editor.
func timeOfDay() string { return time.Now().Format(time.TimeOnly) }
