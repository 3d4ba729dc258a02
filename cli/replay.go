package cli

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/sim/recording"
)

func (a *app) replayCommand() *cobra.Command {
	var replaced ruleFiles
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Replay what a controller has seen",
		Long: `Run the controller through a recording of reconcel record, without a cluster. It sees
the same lists and watch events at the same times, and gets the same answers. replay
prints the first write in which its decisions differ, and after which event.

With -f, replay uses these rules instead of those of the recording: the first
difference is then the first effect of the change. Another version of reconcel must
make the same writes byte for byte. The values of Secrets are not in the recording,
and are not compared.

A name that ends in .gz is that of a compressed file.

Exit code: 0 the same decisions, 1 a difference, 2 wrong usage, 3 a file cannot be
read.`,
		Example: `  reconcel replay monday.jsonl.gz
  reconcel replay monday.jsonl.gz -f new-rules/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd.Context(), args[0], replaced) },
	}
	replaced.flags(cmd.Flags())
	return cmd
}

func (a *app) replay(ctx context.Context, path string, replaced ruleFiles) error {
	var options recording.Options
	if len(replaced.paths) > 0 {
		loaded, err := a.load(replaced)
		if err != nil {
			return err
		}
		options.Files = loaded.Sources
	}
	file, err := openRecording(path)
	if err != nil {
		return exit.Failure(err)
	}
	defer file.Close()
	r, err := recording.Replay(ctx, file, options)
	if err != nil {
		return exit.Failure(fmt.Errorf("%s: %w", path, err))
	}
	what := fmt.Sprintf("%s, %s, %s", output.Plural(r.Events, "event"), output.Plural(r.Reconciliations, "reconciliation"), output.Plural(r.Writes, "write"))
	if r.CutOff {
		a.say("%s is cut off: its last step is not replayed", path)
	}
	if r.Difference == nil {
		return a.print([]byte(what + ": the same decisions\n"))
	}
	if err := a.print([]byte(describe(path, r.Difference) + "before it: " + what + "\n")); err != nil {
		return err
	}
	return exit.Silent(exit.No)
}

// describe returns a difference for people.
func describe(path string, d *recording.Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s\n", path, d.Line, d.Step)
	for _, side := range []struct {
		name string
		call *recording.Call
	}{{"recorded", d.Recorded}, {"replayed", d.Replayed}} {
		if side.call == nil {
			fmt.Fprintf(&b, "%s: nothing\n", side.name)
			continue
		}
		fmt.Fprintf(&b, "%s: %s %s\n", side.name, side.call, side.call.Body)
	}
	return b.String()
}

// A compressed file closes both.
type compressed struct {
	*gzip.Reader
	file io.Closer
}

// Close implements io.Closer.
func (c compressed) Close() error {
	_ = c.Reader.Close() // Everything was read.
	return c.file.Close()
}

// openRecording opens a recording, which is compressed if its name ends in .gz.
func openRecording(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return file, err
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return compressed{unpacked, file}, nil
}
