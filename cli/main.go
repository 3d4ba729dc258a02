package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/settings"
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
}

func (a *app) main(args []string) int {
	out := &printer{a.stdout, a.stderr}
	root := a.command(out)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	return out.conclude(cmd, err)
}

// command returns the command with all others below it.
func (a *app) command(out *printer) *cobra.Command {
	root := &cobra.Command{
		Use:   "reconcel",
		Short: "A Kubernetes controller that is driven by rules",
		Long: `reconcel is a Kubernetes controller that is driven by rules. A rule is YAML with
templates and CEL expressions: it says which objects a resource owns and what its
status is.`,
		Example: `  reconcel validate -f examples/foo/rules.yaml
  reconcel render -f examples/foo/rules.yaml -r examples/foo/foo.yaml
  reconcel run -f examples/foo/rules.yaml`,
		Version:       builtFrom().Version,
		SilenceErrors: true, // conclude prints them
		SilenceUsage:  true,

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return rejectNoFiles(cmd.Flags()) },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(explainFlag)
	root.SetVersionTemplate(builtFrom().String())
	loader := &loader{stdin: a.stdin}
	completer, repeater := &completer{loader}, &repeater{out, loader}
	deploy := deployCommand{out, loader}
	root.AddCommand(
		runCommand{out, loader}.command(),
		devCommand{out, loader}.command(),
		renderCommand{out, loader, repeater}.command(),
		initCommand{out, loader, a.stdin}.command(),
		validateCommand{out, loader, repeater}.command(),
		testCommand{out, loader, repeater}.command(),
		fmtCommand{out, loader}.command(),
		importCommand{out, loader}.command(),
		diffCommand{out, loader, completer}.command(),
		planCommand{out, loader}.command(),
		approveCommand{out}.command(),
		rolloutCommand{out}.command(),
		reconcileCommand{out, loader, completer}.command(),
		statusCommand{out, loader, completer}.command(),
		treeCommand{out, loader, completer}.command(),
		whyCommand{out, loader, completer}.command(),
		graphCommand{out, loader, completer}.command(),
		deploy.rbacCommand(),
		deploy.manifestsCommand(),
		schemaCommand{out}.command(),
		crdCommand{out, loader}.command(),
		docsCommand{out, loader}.command(),
		explainCommand{out}.command(),
		evalCommand{out, loader}.command(),
		lspCommand{a.stdin, a.stdout}.command(),
		uninstallCommand{out}.command(),
		versionCommand{out}.command(),
	)
	nameAs(a.program, root)
	completer.addCompletions(root)
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
	switch rules, resources := cmd.Flags().Lookup("rules"), cmd.Flags().ShorthandLookup("r"); {
	case rules == nil:
	case rules.Changed && resources != nil && resources.Name == "resources":
		return exit.Misused("unexpected argument %q: give resources with -r, rules with -f", args[0])
	default:
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

// rejectNoFiles rejects a flag that is given and names no file, as the variable of a script does that is not set.
// Without the error, the command would do something else.
func rejectNoFiles(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		list, several := f.Value.(pflag.SliceValue)
		if what, _ := pflag.UnquoteUsage(f); what != "file" || !several || err != nil {
			return
		}
		if all := list.GetSlice(); len(all) == 0 || slices.Contains(all, "") {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			err = exit.Misused("%s names no file: its value is empty", name)
		}
	})
	return err
}

// untilSignal returns a context that ends when a signal asks the process to stop.
func untilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// writtenFlag adds the flag -o of commands whose result is a file.
func writtenFlag(flags *pflag.FlagSet, path *string) {
	flags.StringVarP(path, "output", "o", "",
		"`file` to write the result to instead of stdout; if the command fails, it stays as it is")
}

// outputFlag adds the flag -o.
func outputFlag(flags *pflag.FlagSet, format *settings.Value[string]) {
	flags.VarP(format, "output", "o", "format of the result")
}

// conclude prints an error and returns the exit code. An error without a code comes
// from cobra and means that the command line is wrong.
func (p *printer) conclude(cmd *cobra.Command, err error) int {
	if err == nil {
		return exit.Yes
	}
	end, coded := errors.AsType[*exit.Error](err)
	if !coded {
		end = &exit.Error{Code: exit.Usage, Err: err}
	}
	if end.Err != nil {
		p.complain(end.Err)
	}
	if end.Code == exit.Usage {
		p.say("Run '%s --help' for usage.", cmd.CommandPath())
	}
	return end.Code
}

// interrupted reports the signal instead of the requests that it canceled.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exit.Failure(errors.New("interrupted"))
	}
	if _, coded := exit.Code(err); err == nil || coded {
		return err
	}
	return exit.Failure(err)
}

// complain prints an error.
func (p *printer) complain(err error) { exit.Tell(p.stderr, err) }

// plugin is the name of the binary as a plugin of kubectl, which runs it for kubectl
// reconcel.
const plugin = "kubectl-reconcel"

// exampleCommand matches the name of the command where an example calls it.
var exampleCommand = regexp.MustCompile(`(?m)(^ *|[|;] )reconcel `)

// nameAs lets the help of a command and its subcommands call it as the user does.
func nameAs(program string, root *cobra.Command) {
	if strings.TrimSuffix(filepath.Base(program), ".exe") != plugin {
		return
	}
	name := strings.Replace(plugin, "-", " ", 1)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	renameExamples(name, root)
}

func renameExamples(name string, cmd *cobra.Command) {
	cmd.Example = exampleCommand.ReplaceAllString(cmd.Example, "${1}"+name+" ")
	for _, sub := range cmd.Commands() {
		renameExamples(name, sub)
	}
}
