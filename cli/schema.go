package cli

import (
	"github.com/spf13/cobra"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules/syntax"
)

// A schemaCommand prints a JSON Schema.
type schemaCommand struct{ out *printer }

func (c schemaCommand) command() *cobra.Command {
	var tests bool
	var path string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON Schema of rules files, for editors",
		Long: `Print a JSON Schema of rules files. Editors with a YAML language server use it to
complete, explain and check rules as you type.

A rules file can name its schema in its first line, as a path or URL:

  # yaml-language-server: $schema=rules.schema.json

Or the settings of VS Code, with the extension redhat.vscode-yaml, assign it to
files:

  "yaml.schemas": {"./rules.schema.json": "**/rules.yaml"}

The schema describes keys and types. Use validate to check expressions. --tests
prints the schema of the files that reconcel test runs.`,
		Example: `  reconcel schema -o rules.schema.json
  reconcel schema --tests -o tests.schema.json`,
		Args: flagsOnly,
		RunE: func(*cobra.Command, []string) error {
			if tests {
				return c.out.deliver(ruletest.JSONSchema(), path)
			}
			return c.out.deliver(syntax.JSONSchema(), path)
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "the schema of test files")
	writtenFlag(cmd.Flags(), &path)
	return cmd
}
