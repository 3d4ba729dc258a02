package findings

import (
	"errors"
	"strings"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules/source"
)

// Tests returns the results of test files. A file that could not run has one case, which
// failed.
func Tests(r *ruletest.Report) (suites []Suite) {
	for i := range r.Results {
		result := &r.Results[i]
		suite := Suite{Name: result.File}
		if result.Err != nil {
			suite.Cases = append(suite.Cases, Case{Name: "loads", Failures: positioned(result.File, result.Err)})
		}
		for k := range result.Cases {
			c := &result.Cases[k]
			suite.Cases = append(suite.Cases, Case{Name: c.Case.Name, Took: c.Took, Failures: failures(c)})
		}
		suites = append(suites, suite)
	}
	return suites
}

// Failures returns the failures of all cases.
func Failures(suites []Suite) (all source.Errors) {
	for _, suite := range suites {
		for _, c := range suite.Cases {
			all = append(all, c.Failures...)
		}
	}
	return all
}

// failures returns the failures of a case with its name.
func failures(r *ruletest.CaseResult) (all source.Errors) {
	for _, f := range r.Failures {
		text := r.Case.Name + ": " + f.String()
		if f.Diff != "" {
			text += "\n" + strings.TrimSuffix(f.Diff, "\n")
		}
		all = append(all, source.NewError(f.Pos, "", text, ""))
	}
	return all
}

// positioned returns the errors of a file that could not run.
func positioned(file string, err error) source.Errors {
	if report, ok := errors.AsType[source.Errors](err); ok {
		return report
	}
	return source.Errors{source.NewError(source.Pos{File: file}, "", err.Error(), "")}
}
