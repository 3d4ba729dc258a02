package cli

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/lsp"
	"reconcel/cli/internal/settings"
)

// lspFlags are the flags of lsp.
type lspFlags struct {
	policyFlags
	crds   []string
	strict bool
}

// An lspCommand serves an editor.
type lspCommand struct {
	stdin  io.Reader
	stdout io.Writer
}

func (c lspCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors with diagnostics and completion of rules",
		Long: `Run a language server for rules files, which an editor starts. It speaks the Language
Server Protocol on stdin and stdout.

It shows the findings of validate --strict while you type, with quick fixes. It
completes and describes keys, fields of templates, and names, fields and functions in
expressions, and finds the definitions of ids, lets and lookups.

Kubernetes' own kinds are built in. The schemas of custom resources come from the CRDs
of --crd, or else from those beside the file and in the folder crds beside it.
reconcel.yaml in the root folder of the workspace, or else in the working directory,
may set crd, strict, allow-kind, namespaced and ignore-check. An editor can set them
as initializationOptions, too.

Exit code: 0 the editor ended the session, 1 it ended without shutdown, 2 wrong usage,
3 the input is not the protocol.`,
		Example: `  reconcel lsp --crd crds/`,
		Args:    flagsOnly,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.lsp(cmd.Flags()) },
	}
	(&lspFlags{}).flags(cmd.Flags())
	return cmd
}

func (f *lspFlags) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.crds, "crd", nil,
		"`file` or folder of CustomResourceDefinitions; may be repeated (default: those beside each file)")
	f.policyFlags.flags(flags, asRun)
	flags.BoolVar(&f.strict, "strict", false, "show warnings as errors")
}

func (c lspCommand) lsp(given *pflag.FlagSet) error {
	project := func(root string) (lsp.Project, error) { return projectIn(root, given) }
	err := lsp.Serve(c.stdin, c.stdout, lsp.Options{Version: builtFrom().Version, Project: project})
	switch {
	case errors.Is(err, lsp.ErrNoShutdown):
		return exit.Wrong(err)
	case err != nil:
		return exit.Failure(err)
	}
	return nil
}

// projectIn returns what the given flags and the settings of the project in a folder say.
// It completes a copy of the flags, because the file may change.
func projectIn(root string, given *pflag.FlagSet) (lsp.Project, error) {
	f, flags := &lspFlags{}, pflag.NewFlagSet("lsp", pflag.ContinueOnError)
	f.flags(flags)
	var wrong []error
	given.Visit(func(from *pflag.Flag) {
		to := flags.Lookup(from.Name)
		to.Changed = true
		if list, ok := from.Value.(pflag.SliceValue); ok {
			wrong = append(wrong, to.Value.(pflag.SliceValue).Replace(list.GetSlice()))
			return
		}
		wrong = append(wrong, to.Value.Set(from.Value.String()))
	})
	err := errors.Join(append(wrong, settings.Project(root, flags, settingNames()))...)
	return lsp.Project{CRDs: f.crds, Policy: f.policy(), Strict: f.strict}, err
}
