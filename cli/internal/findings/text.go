package findings

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

// A Finding is a mistake in a file, as the JSON output has it.
type Finding struct {
	Severity string     `json:"severity"` // error, warning or note
	Position source.Pos `json:"position"` // line 0: the whole file
	Rule     string     `json:"rule,omitempty"`
	Message  string     `json:"message"`
	Hint     string     `json:"hint,omitempty"`
	Check    string     `json:"check,omitempty"` // its name in docs/checks.md
}

// List returns findings for an encoder of JSON.
func List(all source.Errors) []Finding {
	list := make([]Finding, len(all))
	for i, e := range all {
		list[i] = Finding{e.Severity.String(), e.Pos, e.Rule, e.Message, e.Hint, e.Check}
	}
	return list
}

// Annotations returns findings as workflow commands, which GitHub shows beside the
// lines of a pull request. Format: "Workflow commands for GitHub Actions" in GitHub's
// documentation.
func Annotations(all source.Errors) []byte {
	commands := map[source.Severity]string{source.SeverityError: "error", source.SeverityWarning: "warning",
		source.SeverityNote: "notice"}
	var b bytes.Buffer
	for _, e := range all {
		var properties []string
		if e.Pos.File != "" {
			properties = append(properties, "file="+property(filepath.ToSlash(e.Pos.File)))
		}
		if e.Pos.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d,col=%d", e.Pos.Line, e.Pos.Column))
		}
		if e.Check != "" {
			properties = append(properties, "title="+property(e.Check))
		}
		command := strings.TrimSpace(commands[e.Severity] + " " + strings.Join(properties, ","))
		fmt.Fprintf(&b, "::%s::%s\n", command, message(e.Text()))
	}
	return b.Bytes()
}

// message escapes the text of a workflow command, which is one line.
func message(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property escapes a property of a workflow command.
func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(message(text))
}
