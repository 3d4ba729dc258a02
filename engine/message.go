package engine

import (
	"fmt"
	"regexp"
	"strings"

	"reconcel/engine/watch"
)

// shorten limits a message of the API server, which may list many causes, to a
// length that is readable in a condition.
func shorten(s string) string { return truncate(s, 512) }

// mostFailure limits a message of many failed fields, in bytes. It is below the
// API server's limit for a condition's message and leaves room for a prefix.
const mostFailure = 30_000

func truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// joinFirst joins the first items and counts the others.
func joinFirst(items []string) string {
	const most = 5
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
	}
	return strings.Join(items, ", ")
}

// mostBrief limits a condition's message, in bytes: kubectl get pads every row
// to the longest message. The Event and the log have the full message.
const mostBrief = 160

// brief returns the message for a condition. A message that is too long loses
// the rule and the child first, because the cause and the remedy matter more.
func (o outcome) brief() string {
	if whole := shortenForCondition(o.message()); o.named || len(o.at.prefix())+len(shortenForCondition(o.text)) <= mostBrief {
		return whole
	}
	return shortenForCondition(o.text)
}

// patterns matches the example and the regular expression that the API server
// appends to the name of a format. They contain patternsText.
var patterns = regexp.MustCompile(`\s*\((?:e\.g\. .*?, (?:or .*?, )?)?` + patternsText + ` '[^']*'\)`)

const patternsText = "regex used for validation is"

// shortenForCondition limits a message to a length that is readable in a list.
func shortenForCondition(s string) string {
	if strings.Contains(s, patternsText) {
		s = patterns.ReplaceAllString(s, "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= mostBrief {
		return s
	}
	return truncate(s, mostBrief-len("…"))
}

// subjectOf names an object as Kind/namespace/name.
func subjectOf(k Kind, o *watch.Object) string {
	id := o.Identity(k.GVK)
	return id.String()
}
