package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/internal/yamltext"
	"reconcel/rules/source"
)

// Main runs the command that the process was started with and returns its exit
// code.
func Main() int {
	a := &app{program: os.Args[0], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	return a.main(os.Args[1:])
}

// An app is one run of the command with its input and output.
type app struct {
	program        string // the file that runs, or ""
	stdin          io.Reader
	stdout, stderr io.Writer
	seen           func(path string) // called for what commands read; may be nil
}

func (a *app) main(args []string) int {
	root := a.command()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	return a.conclude(cmd, err)
}

// say prints one line to stderr.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// print writes a result to stdout. A failed write is a failure of the command.
func (a *app) print(result []byte) error {
	if _, err := a.stdout.Write(result); err != nil {
		return exit.Failure(fmt.Errorf("write the result: %w", err))
	}
	return nil
}

// deliver writes a result to a file, or to stdout without one. If that fails, the file is as
// it was.
func (a *app) deliver(result []byte, path string) error {
	if path == "" || path == files.Stdin {
		return a.print(result)
	}
	if err := files.Replace(path, result); err != nil {
		return exit.Failure(fmt.Errorf("%s: cannot be written: %w", path, err))
	}
	return nil
}

// printJSON writes a result to stdout as JSON.
func (a *app) printJSON(result any) error {
	text, err := output.JSON(result)
	if err != nil {
		return exit.Failure(err)
	}
	return a.print(text)
}

// printYAML writes a result to stdout as YAML.
func (a *app) printYAML(result any) error {
	text, err := yamltext.Marshal(result)
	if err != nil {
		return exit.Failure(err)
	}
	return a.print(text)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "reconcel",
		Short: "A Kubernetes controller that is driven by rules",
		Long: `reconcel is a Kubernetes controller that is driven by rules. A rule is YAML with
templates and CEL expressions: it says which objects a resource owns and what its
status is.`,
		Example: `  reconcel validate -f examples/foo/rules.yaml
  reconcel render -f examples/foo/rules.yaml -r examples/foo/foo.yaml
  reconcel run -f examples/foo/rules.yaml`,
		SilenceErrors: true, // conclude prints them
		SilenceUsage:  true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(explainFlag)
	root.AddCommand(a.runCommand(), a.renderCommand(), a.initCommand(), a.validateCommand(), a.testCommand(), a.fmtCommand(), a.importCommand(), a.diffCommand(), a.planCommand(), a.approveCommand(), a.rolloutCommand(), a.statusCommand(), a.treeCommand(), a.whyCommand(), a.graphCommand(),
		a.rbacCommand(), a.manifestsCommand(), a.schemaCommand(), a.crdCommand(), a.docsCommand(), a.explainCommand(), a.evalCommand(), a.lspCommand(), a.uninstallCommand(), a.versionCommand())
	nameAs(a.program, root)
	a.addCompletions(root)
	return root
}

// explainFlag suggests the flag that a misspelt one may mean.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return exit.Misused("%w", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := source.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return exit.Misused("%w (did you mean --%s?)", err, near)
	}
	return exit.Misused("%w", err)
}

func flagsOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Lookup("rules") != nil {
		return exit.Misused("unexpected argument %q: give rules with -f", args[0])
	}
	return exit.Misused("unexpected argument %q", args[0])
}

// once rejects a second use of stdin, which can be read only once.
func once(lists ...[]string) error {
	n := 0
	for _, list := range lists {
		for _, path := range list {
			if strings.TrimSpace(path) == files.Stdin {
				n++
			}
		}
	}
	if n > 1 {
		return exit.Misused("- is given %d times, but stdin can be read only once", n)
	}
	return nil
}

// untilSignal returns a context that ends when a signal asks the process to stop.
func untilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// writtenFlag adds the flag -o of commands whose result is a file.
func writtenFlag(flags *pflag.FlagSet, path *string) {
	flags.StringVarP(path, "output", "o", "", "`file` to write the result to instead of stdout; if the command fails, it stays as it is")
}

// outputFlag adds the flag -o.
func outputFlag(flags *pflag.FlagSet, format *settings.Value[string]) {
	flags.VarP(format, "output", "o", "format of the result")
}
