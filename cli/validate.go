package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/rules/source"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	offlineRules
	strict  bool
	verbose bool
}

func (a *app) validateCommand() *cobra.Command {
	f := &validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate -f RULES...",
		Short: "Check rules, without a cluster",
		Long: `Check rules, and print for each file the number of its rules, or all errors with
file, line and column.

Every expression and every field of a template is checked against the schemas of
the kinds: Kubernetes' own are built in, those of custom resources come from their
CRDs (--crd). It is a warning if an expression reads a field that may be absent, or
if a custom resource has no status.conditions for reconcel to report in. --strict
turns warnings into errors. -v lists the kinds without a schema, and prints the
conditions that a CRD lacks. No cluster and no kubeconfig is read.

A message that ends in a [name] comes from a named check: docs/checks.md lists them.
A comment "# reconcel:ignore name" silences the check on its line, or alone on a line
on the next one. --ignore-check turns a check off.

Exit code: 0 all rules are valid, 1 some are invalid, 2 wrong usage.`,
		Example: `  reconcel validate -f examples/foo/rules.yaml --crd crds/ --strict`,
		Args:    flagsOnly,
		RunE:    func(*cobra.Command, []string) error { return a.validate(f) },
	}
	flags := cmd.Flags()
	f.flags(flags, asRun)
	flags.BoolVar(&f.strict, "strict", false, "turn warnings into errors")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print what could not be checked")
	return cmd
}

func (a *app) validate(f *validateFlags) error {
	if err := once(f.paths, f.crds); err != nil {
		return err
	}
	j, err := a.judge(&f.offlineRules)
	if err != nil {
		return err
	}
	v := j.verdict
	said := append(v.Errors, withPrefix("warning: ", v.Warnings)...)
	if f.verbose {
		said = append(said, withPrefix("note: ", v.Notes)...)
	}
	if err := source.Collect(j.Sources, said).Report(a.stderr); err != nil {
		return exit.Failure(err)
	}
	if f.verbose {
		a.tellConditionsBlock(v.Unreported)
	}
	if len(v.Errors) > 0 || f.strict && len(v.Warnings) > 0 {
		return exit.Silent(exit.No) // Each one is already printed.
	}
	count := map[string]int{}
	for _, primary := range j.Program.Primaries() {
		for _, rule := range primary.Rules {
			count[rule.Pos.File]++
		}
	}
	var b bytes.Buffer
	for _, source := range j.Sources {
		fmt.Fprintf(&b, "%s: %s ok\n", source.Name, output.Plural(count[source.Name], "rule"))
	}
	return a.print(b.Bytes())
}

// withPrefix prefixes the messages of errors.
func withPrefix(word string, list []*source.Error) []*source.Error {
	for _, e := range list {
		e.Message = word + e.Message
	}
	return list
}
