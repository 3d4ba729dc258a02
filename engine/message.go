package engine

import (
	"fmt"
	"regexp"
	"strings"

	"reconcel/engine/events"
	"reconcel/engine/watch"
)

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

// mostMessage limits the message of a condition, an Event and a log line, in bytes. It is the API server's limit for Events.
const mostMessage = events.LongestNote

// leastText is how much of a text has to have room behind its cause. It would say nothing else.
const leastText = 100

// message returns the message of a condition or an Event. It begins with the cause, and has all of it.
func (o outcome) message() string {
	if o.named {
		return shorten(o.text, mostMessage)
	}
	return o.placedAt(o.at.prefix())
}

// logged returns the message of a log line, which has the rule and the child apart.
func (o outcome) logged() string { return o.placedAt("") }

func (o outcome) placedAt(position string) string {
	cause, text := shorten(o.cause, mostMessage), position+o.text
	if cause != "" && o.text == o.cause {
		text = strings.TrimSuffix(position, ": ")
	}
	switch rest := mostMessage - len(cause) - len(" ()"); {
	case cause == "":
		return shorten(text, mostMessage)
	case text == "" || rest < min(leastText, len(text)):
		return cause
	default:
		return cause + " (" + shorten(text, rest) + ")"
	}
}

// shorten puts a message into one line, and cuts out its middle if it is too long. The API server quotes values there,
// and the cause comes behind them.
func shorten(s string, most int) string {
	s = strings.TrimSpace(lineBreaks.ReplaceAllString(s, " "))
	if len(s) <= most {
		return s
	}
	const gap = " … "
	tail := (most - len(gap)) / 2
	head := most - len(gap) - tail
	return strings.ToValidUTF8(s[:head], "") + gap + strings.ToValidUTF8(s[len(s)-tail:], "")
}

var lineBreaks = regexp.MustCompile(`\s*[\r\n]\s*|\t`)

// subjectOf names an object as Kind/namespace/name.
func subjectOf(k Kind, o *watch.Object) string {
	id := o.Identity(k.GVK)
	return id.String()
}
