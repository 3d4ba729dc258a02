package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/explain"
	"reconcel/cli/internal/ruletest"
	"reconcel/rules/syntax"
)

func (a *app) explainCommand() *cobra.Command {
	var tests bool
	cmd := &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Print the documentation of a key of rules files",
		Long: `Print the documentation of a key of rules files, as kubectl explain does for fields
of objects. PATH has the keys from the top of the file, with dots between them:
rules.children.onChange. Without PATH, explain prints the keys at the top.

--tests explains the keys of the files that reconcel test runs.`,
		Example: `  reconcel explain rules.children
  reconcel explain rules.children.onChange
  reconcel explain --tests cases.steps`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			root := syntax.Schema()
			if tests {
				root = ruletest.Schema()
			}
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			text, err := explain.Describe(root, path)
			if _, unknown := errors.AsType[*explain.UnknownError](err); unknown {
				return exit.Wrong(err)
			}
			return errors.Join(err, a.print(text))
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "explain test files")
	return cmd
}
