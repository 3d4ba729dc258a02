package cli

import (
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/recorder"
	"reconcel/sim/recording"
)

// recordFlags are the flags of record.
type recordFlags struct {
	policyFlags
	clusterFlags
	rules           ruleFiles
	namespace, name string
}

func (a *app) recordCommand() *cobra.Command {
	f := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "record -f RULES... FILE",
		Short: "Record what a controller sees",
		Long: `Watch the resources that the rules select, until SIGTERM or SIGINT, and write to FILE
what the controller sees and decides: the rules, lists and watch events, times, and
all requests with their answers. reconcel replay runs the controller through it again.

record is a shadow (run --shadow): it writes nothing into the cluster, needs only
permissions to read, and runs beside the controller. It does one thing after another,
so that each reconciliation is replayed from exactly the caches that it saw. FILE is
compressed if its name ends in .gz.

The values of Secrets are replaced by digests before the controller sees them: equal
values have equal digests, and the key is not in the file. What rules render from
such a value therefore differs from the cluster. Values that rules or other objects
contain are in the file.

Exit code: 0 stopped by a signal, 1 the rules are invalid, 2 wrong usage, 3 a file
cannot be read or written, or the cluster does not answer.`,
		Example: `  reconcel record -f examples/foo/rules.yaml monday.jsonl.gz`,
		Args:    cobra.ExactArgs(1),
		PreRunE: inProject,
		RunE:    func(_ *cobra.Command, args []string) error { return a.record(f, args[0]) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.policyFlags.flags(flags, "watch only these namespaces; may be repeated (default: all)")
	f.clusterFlags.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the installation (default: the kubeconfig context's, \"default\")")
	flags.StringVar(&f.name, "name", "reconcel", "name of the installation")
	return cmd
}

func (a *app) record(f *recordFlags, path string) error {
	if err := once(f.rules.paths); err != nil {
		return err
	}
	loaded, err := a.load(f.rules)
	if err != nil {
		return err
	}
	if err := validInstallation(f.namespace, f.name); err != nil {
		return err
	}
	if err := rejected(loaded, judge.Of(loaded, nil, f.policy())); err != nil {
		return err
	}
	config, namespace, err := f.connect(a.printWarnings())
	if err != nil {
		return err
	}
	config.Wrap(dryrun.Guard)
	o := recorder.Options{Rules: loaded, Policy: f.policy(), Namespace: cmp.Or(f.namespace, namespace), Name: f.name, Log: slog.New(slog.NewTextHandler(a.stderr, nil))}
	if o.Cluster, err = cluster.New(config); err != nil {
		return exit.Failure(err)
	}
	if o.Watches, err = dynamic.NewForConfig(config); err != nil {
		return exit.Failure(err)
	}
	file, err := createRecording(path)
	if err != nil {
		return exit.Failure(err)
	}
	o.To = recording.NewWriter(file)
	ctx, stop := untilSignal()
	defer stop()
	r, err := recorder.Record(ctx, o)
	o.To.End()
	if ctx.Err() != nil && o.To.Err() == nil {
		err = nil // The signal interrupted a request.
	}
	if err := errors.Join(err, o.To.Err(), file.Close()); err != nil {
		return exit.Failure(err)
	}
	a.say("%s: %s, %s", path, output.Plural(r.Events, "event"), output.Plural(r.Reconciliations, "reconciliation"))
	return nil
}

// A compressing file closes both.
type compressing struct {
	*gzip.Writer
	file io.Closer
}

// Close implements io.Closer.
func (c compressing) Close() error { return errors.Join(c.Writer.Close(), c.file.Close()) }

// createRecording creates a recording, which is compressed if its name ends in .gz.
func createRecording(path string) (io.WriteCloser, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return file, err
	}
	return compressing{gzip.NewWriter(file), file}, nil
}
