package findings

import (
	"bytes"
	"fmt"
	"slices"

	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/source"
)

// Invalid reports whether one of the findings is an error.
func Invalid(all source.Errors) bool {
	return slices.ContainsFunc(all, func(e *source.Error) bool { return e.Severity == source.SeverityError })
}

// Text returns findings for people and, if the rules are valid, the number of rules in
// each file.
func Text(all source.Errors, files []string, program *rules.Program) []byte {
	var b bytes.Buffer
	_ = all.Report(&b) // A buffer takes everything.
	if Invalid(all) {
		return b.Bytes()
	}
	count := countRules(program)
	for _, name := range files {
		fmt.Fprintf(&b, "%s: %s ok\n", name, output.Plural(count[name], "rule"))
	}
	return b.Bytes()
}

// countRules returns the number of rules in each file.
func countRules(p *rules.Program) map[string]int {
	count := map[string]int{}
	counted := map[string]bool{}
	for _, primary := range p.Primaries() {
		for _, rule := range primary.Rules {
			if !counted[rule.Name] { // It may be for several kinds.
				counted[rule.Name] = true
				count[rule.Pos.File]++
			}
		}
	}
	return count
}
