package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/explain"
	"reconcel/cli/internal/ruletest"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An explainCommand prints the documentation of keys.
type explainCommand struct{ out *printer }

func (c explainCommand) command() *cobra.Command {
	var tests bool
	root := func() *source.Schema {
		if tests {
			return ruletest.Schema()
		}
		return syntax.Schema()
	}
	cmd := &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Print the documentation of a key, a function or a check",
		Long: `Print the documentation of a key of rules files, as kubectl explain does for fields
of objects. PATH has the keys from the top of the file, with dots between them:
rules.children.onChange, or children.onChange. Without PATH, explain prints the keys
at the top.

--tests explains the keys of the files that reconcel test runs. A function of
expressions, such as elapsed, or a check of validate, such as excluded-reader, is
explained by its name; functions and checks list them all.`,
		Example: `  reconcel explain rules.children
  reconcel explain rules.children.onChange
  reconcel explain --tests cases.steps
  reconcel explain functions
  reconcel explain excluded-reader`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, path string) ([]string, cobra.ShellCompDirective) {
			return completePath(root(), args, path)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			text, err := explain.Describe(root(), path)
			if _, unknown := errors.AsType[*explain.UnknownError](err); unknown {
				page := explain.Page(path)
				if tests || len(page) == 0 {
					return exit.Wrong(err)
				}
				text, err = page, nil
			}
			return errors.Join(err, c.out.print(text))
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "explain test files")
	return cmd
}

// completePath completes the last key of a path.
func completePath(root *source.Schema, args []string, path string) (paths []string, _ cobra.ShellCompDirective) {
	parent := path[:strings.LastIndex(path, ".")+1]
	_, err := explain.Describe(root, strings.TrimSuffix(parent, ".")+".")
	unknown, ok := errors.AsType[*explain.UnknownError](err)
	if ok && len(args) == 0 && strings.HasSuffix("."+unknown.Path, "."+parent) {
		for _, key := range unknown.Keys {
			if strings.HasPrefix(parent+key, path) {
				paths = append(paths, parent+key)
			}
		}
	}
	return paths, cobra.ShellCompDirectiveNoFileComp
}
