package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/findings"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/settings"
	"reconcel/rules/crd"
	"reconcel/rules/source"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	offlineRules
	repeating
	strict  bool
	verbose bool
	output  *settings.Value[string]
}

// A validateCommand checks rules.
type validateCommand struct {
	out      *printer
	loader   *loader
	repeater *repeater
}

func (c validateCommand) command() *cobra.Command {
	f := &validateFlags{output: settings.Choice("text", findings.JSON, findings.SARIF, findings.GitHub, findings.JUnit)}
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

A folder may have other files besides rules: validate passes over CRDs, samples and
whatever else has no rules, and -v names them. Without --crd, the CRDs in the folders
count. reconcel.yaml in the working directory may set rules, crd and strict, and what
other commands share with run.

-w checks the rules again whenever a file changes, until Ctrl-C.

-o selects the format: json, sarif for code scanning, github for annotations in a
workflow of GitHub, or junit for test reports.

A message that ends in a [name] comes from a named check: docs/checks.md lists them.
A comment "# reconcel:ignore name" silences the check on its line, or alone on a line
on the next one. --ignore-check turns a check off.

Exit code: 0 all rules are valid, 1 some are invalid, 2 wrong usage, 3 a file cannot
be read.`,
		Example: `  reconcel validate -f examples/foo/rules.yaml --crd crds/ --strict`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.repeater.repeat(f.repeating, cmd, func() error { return c.validate(f) }, f.paths, f.crds)
		},
	}
	flags := cmd.Flags()
	f.offlineRules.flags(flags, asRun)
	f.repeating.flags(flags)
	flags.BoolVar(&f.strict, "strict", false, "turn warnings into errors")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print what could not be checked")
	outputFlag(flags, f.output)
	return cmd
}

func (c validateCommand) validate(f *validateFlags) error {
	if err := once(f.paths, f.crds); err != nil {
		return err
	}
	j, err := c.loader.judge(&f.offlineRules)
	inCRDs, positioned := errors.AsType[source.Errors](err)
	if err != nil && !positioned {
		return err
	}
	v := j.Result
	if f.strict {
		v.Warnings = v.Warnings.WithSeverity(source.SeverityError)
	}
	found := slices.Concat(v.Errors, v.Warnings)
	if f.verbose {
		found = slices.Concat(found, v.Notes, j.Passed)
	}
	found = slices.Concat(inCRDs, source.Collect(j.Sources, found))
	if err := c.tellFindings(f, j, found); err != nil {
		return err
	}
	if f.verbose {
		c.tellConditionsBlock(v.Unreported)
	}
	if code, failed := exit.Code(err); failed {
		return exit.Silent(max(code, rejectedCode(j.Loaded))) // Each one is already printed.
	}
	if findings.Invalid(found) {
		return exit.Silent(rejectedCode(j.Loaded))
	}
	return nil
}

// tellFindings prints what was found in rules.
func (c validateCommand) tellFindings(f *validateFlags, j offline.Judged, found source.Errors) error {
	names := make([]string, len(j.Sources))
	for i, file := range j.Sources {
		names[i] = file.Name
	}
	switch f.output.Value {
	case findings.JSON:
		return c.out.printJSON(validated{!findings.Invalid(found), names, findings.List(found)})
	case findings.SARIF:
		return c.out.printJSON(findings.Log(builtFrom().Version, found))
	case findings.GitHub:
		return c.out.print(findings.Annotations(found))
	case findings.JUnit:
		text, err := findings.Document(findings.Suites(names, found))
		if err != nil {
			return exit.Failure(err)
		}
		return c.out.print(text)
	}
	return c.out.print(findings.Text(found, names, j.Program))
}

// validated is the result in JSON.
type validated struct {
	Valid    bool               `json:"valid"`
	Files    []string           `json:"files"`
	Findings []findings.Finding `json:"findings"`
}

// tellConditionsBlock prints the missing lines of CRDs without conditions.
func (c validateCommand) tellConditionsBlock(unreported []schema.GroupVersionKind) {
	if len(unreported) == 0 {
		return
	}
	var of []string
	for _, gvk := range unreported {
		of = append(of, fmt.Sprintf("%s (%s)", gvk.Kind, gvk.GroupVersion()))
	}
	c.out.say("# Merge this into spec.versions of the CRD of %s:\n%s", strings.Join(of, ", "),
		strings.TrimSuffix(crd.Conditions, "\n"))
}
