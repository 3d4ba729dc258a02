package ruletest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"reconcel/rules"
	"reconcel/rules/source"
)

// A Report has the results of a run.
type Report struct {
	Results []Result
	// Expressions are the expressions of all tested rules. Ran says which of them
	// ran.
	Expressions []rules.Expression
	Ran         map[rules.Expression]bool
}

// Passed reports whether all files ran and all cases passed.
func (r *Report) Passed() bool {
	for i := range r.Results {
		if !r.Results[i].Passed() {
			return false
		}
	}
	return true
}

// Cover adds the expressions of a program and which of them ran. A rules file may
// be part of several programs. Its expressions count as run if one of them ran
// them.
func (r *Report) Cover(program *rules.Program, coverage *rules.Coverage) {
	if r.Ran == nil {
		r.Ran = map[rules.Expression]bool{}
	}
	for _, e := range program.Expressions() {
		if _, known := r.Ran[e]; !known {
			r.Expressions = append(r.Expressions, e)
		}
		r.Ran[e] = r.Ran[e] || coverage.Ran(e)
	}
}

// never returns the expressions that did not run.
func (r *Report) never() []rules.Expression {
	return slices.DeleteFunc(slices.Clone(r.Expressions), func(e rules.Expression) bool { return r.Ran[e] })
}

// Percent returns the percentage of expressions that ran. Without expressions, it is 100.
func (r *Report) Percent() float64 {
	if len(r.Expressions) == 0 {
		return 100
	}
	return 100 - 100*float64(len(r.never()))/float64(len(r.Expressions))
}

// Details selects the optional parts of a report.
type Details struct {
	Cases bool // passed cases, and the writes and Events of failed cases
	Never bool // expressions that never ran
}

// Write prints the report as text, in the format of go test.
func (r *Report) Write(b *bytes.Buffer, details Details) {
	never := r.never()
	for i := range r.Results {
		r.Results[i].write(b, details)
	}
	if len(r.Expressions) > 0 {
		fmt.Fprintf(b, "coverage: %d of %d expressions\n", len(r.Expressions)-len(never), len(r.Expressions))
	}
	if details.Never {
		for _, e := range never {
			fmt.Fprintf(b, "    %s: never ran: %s\n", e.Pos, strings.Join(strings.Fields(e.Text), " "))
		}
	}
}

func (r *Result) write(b *bytes.Buffer, details Details) {
	for i := range r.Cases {
		r.Cases[i].write(b, details)
	}
	failed := r.failed()
	switch {
	case r.Err != nil:
		fmt.Fprintf(b, "FAIL  %s  cannot run\n", r.File)
	case len(r.Cases) == 0:
		fmt.Fprintf(b, "ok    %s  no cases to run\n", r.File)
	case failed > 0:
		fmt.Fprintf(b, "FAIL  %s  %d of %s failed  %s\n", r.File, failed, countOf(len(r.Cases), "case"),
			inMilliseconds(r.Took))
	default:
		fmt.Fprintf(b, "ok    %s  %s  %s\n", r.File, countOf(len(r.Cases), "case"), inMilliseconds(r.Took))
	}
}

func (r *CaseResult) write(b *bytes.Buffer, details Details) {
	switch {
	case !r.Passed():
		fmt.Fprintf(b, "--- FAIL: %s: %s (%s)\n", r.Case.Pos, r.Case.Name, inMilliseconds(r.Took))
	case details.Cases:
		fmt.Fprintf(b, "--- PASS: %s: %s (%s)\n", r.Case.Pos, r.Case.Name, inMilliseconds(r.Took))
	}
	for _, f := range r.Failures {
		fmt.Fprintf(b, "    %s: %s\n", f.Pos, indentLines(f.String(), "    "))
		if f.Diff != "" {
			fmt.Fprintf(b, "        %s\n", indentLines(strings.TrimSuffix(f.Diff, "\n"), "        "))
		}
	}
	if details.Cases && !r.Passed() && r.Failures[0].Step > 0 {
		fmt.Fprintf(b, "    writes in step %d:%s\n", r.Failures[0].Step, indentLines(listWrites(r.Writes), "    "))
		fmt.Fprintf(b, "    Events in step %d:%s\n", r.Failures[0].Step, indentLines(listEvents(r.Events), "    "))
	}
}

// indented adds a prefix to every line except the first.
func indentLines(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

func inMilliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// JSON returns the report for an encoder of JSON. Equal results give equal output,
// so it has no times.
func (r *Report) JSON() any {
	never := r.never()
	out := jsonReport{Passed: r.Passed(), Files: []jsonFile{}, Coverage: jsonCoverage{
		Expressions: len(r.Expressions), Ran: len(r.Expressions) - len(never), Never: []jsonExpression{},
	}}
	for i := range r.Results {
		out.Files = append(out.Files, r.Results[i].json())
	}
	for _, e := range never {
		out.Coverage.Never = append(out.Coverage.Never, jsonExpression{e.Pos, e.Rule, e.Text})
	}
	return out
}

func (r *Result) json() jsonFile {
	file := jsonFile{File: r.File, Passed: r.Passed(), Cases: []jsonCase{}}
	if r.Err != nil {
		file.Error = r.Err.Error()
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		file.Cases = append(file.Cases, jsonCase{c.Case.Name, c.Case.Pos, c.Passed(), append([]Failure{}, c.Failures...)})
	}
	return file
}

// The JSON format of a report.
type (
	jsonReport struct {
		Passed   bool         `json:"passed"`
		Files    []jsonFile   `json:"files"`
		Coverage jsonCoverage `json:"coverage"`
	}
	jsonFile struct {
		File   string     `json:"file"`
		Passed bool       `json:"passed"`
		Error  string     `json:"error,omitempty"`
		Cases  []jsonCase `json:"cases"`
	}
	jsonCase struct {
		Name     string     `json:"name"`
		Position source.Pos `json:"position"`
		Passed   bool       `json:"passed"`
		Failures []Failure  `json:"failures"`
	}
	jsonCoverage struct {
		Expressions int              `json:"expressions"`
		Ran         int              `json:"ran"`
		Never       []jsonExpression `json:"never"`
	}
	jsonExpression struct {
		Position source.Pos `json:"position"`
		Rule     string     `json:"rule"`
		Text     string     `json:"text"`
	}
)
