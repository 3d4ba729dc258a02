package source

import (
	"regexp"
	"slices"
	"strings"
)

// wraps are the markers of expressions in other tools, and common mistakes instead
// of ${...}.
var wraps = [][2]string{{"{{", "}}"}, {"$(", ")"}, {"<", ">"}, {"{", "}"}, {"(", ")"}, {"$", ""}, {"", ""}}

// path matches a name with fields, calls, and the operators after them.
var path = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)\.\??([A-Za-z_][A-Za-z0-9_]*)(\.\??[A-Za-z_]\w*|\[[^]]*\]|\([^)]*\))*( *[-+?&|=<>!].*)?$`)

// sections are the first fields of a path into an object. Other words after a name
// may be a domain.
var sections = []string{"metadata", "spec", "status", "data"}

// Forgotten returns a correction for a text that must have been meant as an
// expression, like self.spec.name, of the primary or another object. It returns "" for
// other texts.
func Forgotten(text string, isObject func(name string) bool) string {
	text = strings.TrimSpace(text)
	for _, w := range wraps {
		inner, opened := strings.CutPrefix(text, w[0])
		inner, closed := strings.CutSuffix(inner, w[1])
		if !opened || !closed {
			continue
		}
		inner = strings.TrimSpace(inner)
		m := path.FindStringSubmatch(inner)
		if m != nil && (m[1] == "self" || isObject(m[1])) && slices.Contains(sections, m[2]) {
			end := len(inner)
			if strings.HasPrefix(m[4], "-") { // Text after a name is more likely than a difference.
				end -= len(m[4])
			}
			return inQuotes("${" + inner[:end] + "}" + inner[end:])
		}
	}
	return ""
}

// inQuotes returns a YAML value in quotes, double ones if possible, because they
// are usual.
func inQuotes(value string) string {
	if strings.ContainsAny(value, `"\`) {
		return Quoted(value)
	}
	return `"` + value + `"`
}
