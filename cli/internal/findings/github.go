package findings

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"reconcel/rules/source"
)

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
