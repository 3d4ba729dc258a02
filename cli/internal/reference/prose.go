package reference

import (
	"regexp"
	"strings"
)

var (
	// quoted matches what descriptions write in backticks.
	quoted = regexp.MustCompile("`[^`\n]+`")
	// listed matches the beginning of an item of a list in a description.
	listed = regexp.MustCompile(`^\s*([-*]|[0-9]+[.)])\s`)
)

// prose returns a description of a CRD as a text. Descriptions keep the line breaks of the
// source code that they come from: only an empty line and an item of a list begin a line.
func prose(description string) (all Text) {
	begins := true
	for line := range strings.SplitSeq(strings.TrimSpace(description), "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			begins = true
			continue
		}
		switch {
		case len(all) == 0:
		case begins || listed.MatchString(line):
			all = append(all, Span{Style: Break})
		default:
			all = append(all, Span{Text: " "})
		}
		begins = false
		all = append(all, marked(trimmed)...)
	}
	return all
}

// marked returns a line with what is in backticks as code.
func marked(line string) (all Text) {
	for {
		at := quoted.FindStringIndex(line)
		if at == nil {
			return appendPlain(all, line)
		}
		all = appendPlain(all, line[:at[0]])
		all = append(all, Span{line[at[0]+1 : at[1]-1], Code})
		line = line[at[1]:]
	}
}

func appendPlain(all Text, text string) Text {
	if text == "" {
		return all
	}
	return append(all, Span{Text: text})
}

// broken matches a line break with the white space around it.
var broken = regexp.MustCompile(`\s*\n\s*`)

// oneLine returns an expression or a value without line breaks.
func oneLine(text string) string { return broken.ReplaceAllString(strings.TrimSpace(text), " ") }
