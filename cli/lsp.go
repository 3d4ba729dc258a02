package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/lsp"
)

// lspFlags are the flags of lsp.
type lspFlags struct {
	policyFlags
	crds []string
}

func (a *app) lspCommand() *cobra.Command {
	f := &lspFlags{}
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors with diagnostics and completion of rules",
		Long: `Run a language server for rules files, which an editor starts. It speaks the Language
Server Protocol on stdin and stdout.

It shows the findings of validate --strict while you type, with quick fixes. It
completes and describes keys, fields of templates, and names, fields and functions in
expressions, and finds the definitions of ids, lets and lookups.

Kubernetes' own kinds are built in. The schemas of custom resources come from the CRDs
of --crd, or else from those beside the file and in the folder crds beside it. An
editor can set crd, allow-kind, namespaced and ignore-check as initializationOptions.

Exit code: 0 the editor ended the session, 1 it ended without shutdown, 2 wrong usage,
3 the input is not the protocol.`,
		Example: `  reconcel lsp --crd crds/`,
		Args:    flagsOnly,
		RunE:    func(*cobra.Command, []string) error { return a.lsp(f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.crds, "crd", nil, "`file` or folder of CustomResourceDefinitions; may be repeated (default: those beside each file)")
	f.policyFlags.flags(flags, asRun)
	return cmd
}

func (a *app) lsp(f *lspFlags) error {
	err := lsp.Serve(a.stdin, a.stdout, lsp.Options{Version: builtFrom().Version, CRDs: f.crds, Policy: f.policy()})
	switch {
	case errors.Is(err, lsp.ErrNoShutdown):
		return exit.Wrong(err)
	case err != nil:
		return exit.Failure(err)
	}
	return nil
}
