package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/findings"
	"reconcel/cli/internal/ruletest"
	"reconcel/cli/internal/settings"
	"reconcel/cli/internal/testfiles"
)

// testFlags are the flags of test.
type testFlags struct {
	policyFlags
	repeating
	paths     []string
	recursive bool
	run       string
	update    bool
	verbose   bool
	coverage  bool
	threshold *settings.Value[int]
	output    *settings.Value[string]
}

// A testCommand tests rules in a simulated cluster.
type testCommand struct {
	out      *printer
	loader   *loader
	repeater *repeater
}

func (c testCommand) command() *cobra.Command {
	f := &testFlags{threshold: settings.Percentage(),
		output: settings.Choice("text", findings.JSON, findings.SARIF, findings.GitHub, findings.JUnit)}
	cmd := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Test rules in a simulated cluster",
		Long: `Run tests of rules. A test file lists the objects in a cluster, what happens to
them, and what you expect the rules to do. PATH is a test file, or a folder with
tests.yaml or *_test.yaml; the default is the current folder.

The controller is the one of run; the cluster and the clock are simulated in
memory. A test that waits for an hour takes milliseconds. No cluster and no
kubeconfig is read.

Every test also checks that the controller converges, that a restarted controller
writes nothing, and that no object remains when the resources are deleted.

-w runs the tests again whenever a file that they use changes, until Ctrl-C.

-o selects the format: json, sarif for code scanning, github for annotations in a
workflow of GitHub, or junit for test reports.

Exit code: 0 all tests passed, 1 a test failed, a file is invalid or too few
expressions ran, 2 wrong usage, 3 a file cannot be read.`,
		Example: `  reconcel test examples/foo
  reconcel test -R examples --run 'is deleted' -v`,
		PreRunE: inProject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.paths = args; len(args) == 0 {
				f.paths = []string{"."}
			}
			return c.repeater.repeat(f.repeating, cmd, func() error { return c.test(cmd.Context(), f) })
		},
	}
	flags := cmd.Flags()
	recursiveFlag(flags, &f.recursive)
	f.policyFlags.flags(flags, asRun)
	f.repeating.flags(flags)
	flags.StringVar(&f.run, "run", "", "run only the cases whose names match this `regexp`")
	flags.BoolVar(&f.update, "update", false, "write the snapshots instead of comparing them")
	flags.BoolVarP(&f.verbose, "verbose", "v", false,
		"print every case, the requests and Events of failed steps, and the expressions that never ran")
	flags.BoolVar(&f.coverage, "coverage", false, "print the expressions that never ran")
	flags.Var(f.threshold, "coverage-threshold", "fail if fewer `percent` of the expressions ran")
	outputFlag(flags, f.output)
	return cmd
}

func (c testCommand) test(ctx context.Context, f *testFlags) error {
	options := ruletest.Options{Update: f.update}
	if f.run != "" {
		names, err := regexp.Compile(f.run)
		if err != nil {
			return exit.Misused("--run: %w", err)
		}
		options.Only = func(one *ruletest.Case) bool { return names.MatchString(one.Name) }
	}
	found, err := c.findTests(f)
	if err != nil {
		return err
	}
	project, err := testedProject()
	if err != nil {
		return err
	}
	loader := testfiles.New(c.loader.reader(ruleFiles{}), f.policy(), project)
	var report ruletest.Report
	var suites []*ruletest.Suite
	for _, file := range found {
		suite, err := loader.Load(file)
		report.Results = append(report.Results, ruletest.Result{File: file, Err: err})
		if err == nil {
			suites = append(suites, suite)
		}
	}
	ran := ruletest.Run(ctx, suites, options)
	for i := range report.Results {
		if report.Results[i].Err == nil {
			report.Results[i], ran = ran[0], ran[1:]
		}
	}
	loader.Cover(&report)
	return c.tell(&report, f, loader.Unread())
}

// tell prints the results of the tests.
func (c testCommand) tell(report *ruletest.Report, f *testFlags, unread bool) error {
	if err := c.tellReport(report, f); err != nil {
		return err
	}
	switch {
	case unread:
		return exit.Silent(exit.Failed) // The error is already printed.
	case !report.Passed():
		return exit.Silent(exit.No)
	}
	if percent := report.Percent(); percent < float64(f.threshold.Value) {
		return exit.Wrong(fmt.Errorf("%.1f %% of the expressions ran, want at least %d %%; --coverage lists the others",
			percent, f.threshold.Value))
	}
	return nil
}

func (c testCommand) tellReport(report *ruletest.Report, f *testFlags) error {
	switch f.output.Value {
	case findings.SARIF:
		return c.out.printJSON(findings.Log(builtFrom().Version, findings.Failures(findings.Tests(report))))
	case findings.GitHub:
		return c.out.print(findings.Annotations(findings.Failures(findings.Tests(report))))
	case findings.JUnit:
		text, err := findings.Document(findings.Tests(report))
		if err != nil {
			return exit.Failure(err)
		}
		return c.out.print(text)
	}
	for i := range report.Results {
		if err := report.Results[i].Err; err != nil {
			c.out.complain(err)
		}
	}
	if f.output.Value == findings.JSON {
		return c.out.printJSON(report.JSON())
	}
	var b bytes.Buffer
	report.Write(&b, ruletest.Details{Cases: f.verbose, Never: f.verbose || f.coverage})
	return c.out.print(b.Bytes())
}

// findTests returns the test files under the paths, each once.
func (c testCommand) findTests(f *testFlags) (all []string, err error) {
	reader := c.loader.reader(ruleFiles{recursive: f.recursive})
	for _, path := range f.paths {
		if path == files.Stdin {
			return nil, exit.Misused("-: tests cannot be read from stdin, because they refer to files beside them")
		}
		found, err := reader.Tests(path)
		_, none := errors.AsType[files.NoFileError](err)
		switch {
		case none && !f.recursive:
			return nil, exit.Failure(fmt.Errorf("%s: no tests.yaml or *_test.yaml in this folder; -R includes subfolders", path))
		case none:
			return nil, exit.Failure(fmt.Errorf("%s: no tests.yaml or *_test.yaml in this folder or its subfolders", path))
		case err != nil && filepath.Base(path) == "...":
			return nil, exit.Misused("%s: write -R %s to include subfolders", path, filepath.Dir(path))
		case err != nil:
			return nil, exit.Failure(fmt.Errorf("%s: cannot be read: %w", path, err))
		}
		for _, file := range found {
			if file = filepath.Clean(file); !slices.Contains(all, file) {
				all = append(all, file)
			}
		}
	}
	return all, nil
}
