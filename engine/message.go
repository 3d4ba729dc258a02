package engine

import (
	"fmt"
	"regexp"
	"strings"
)

// shorten keeps a message from the API server, which may list many causes,
// within what is good to read in a condition.
func shorten(s string) string { return truncate(s, 512) }

// mostFailure is within what the API server takes of a condition's message, with
// room for what is put around it: many fields may fail at once.
const mostFailure = 30_000

func truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// joinFirst joins the things waited for.
func joinFirst(items []string) string {
	const most = 5
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
	}
	return strings.Join(items, ", ")
}

// mostBrief is the length of a condition's message in bytes: kubectl get pads
// every row to the longest one. The Event and the log have the whole.
const mostBrief = 160

// brief returns the message for a condition. If it is too long, the rule and the child
// are left out first: the cause and the remedy must not be cut off for them.
func (o outcome) brief() string {
	if whole := shortenForCondition(o.message()); o.named || len(o.at.prefix())+len(shortenForCondition(o.text)) <= mostBrief {
		return whole
	}
	return shortenForCondition(o.text)
}

// patterns are what the API server adds to the name of a format: an example and
// the regular expression.
var patterns = regexp.MustCompile(`\s*\((?:e\.g\. .*?, (?:or .*?, )?)?regex used for validation is '[^']*'\)`)

// shortenForCondition cuts a message down to what is good to read in a list.
func shortenForCondition(s string) string {
	s = patterns.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= mostBrief {
		return s
	}
	return truncate(s, mostBrief-len("…"))
}

// formatName prints an object as Kind/namespace/name.
func formatName(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}
