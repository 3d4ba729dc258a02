package outcome

import (
	"fmt"
	"regexp"
	"strings"

	"reconcel/engine/events"
)

// MostFailure limits a message of many failed fields, in bytes. It is below the
// API server's limit for a condition's message and leaves room for a prefix.
const MostFailure = 30_000

// Truncate shortens a text to so many bytes and an ellipsis. It cuts no character in two.
func Truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// JoinFirst joins the first items and counts the others.
func JoinFirst(items []string) string {
	const most = 5
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
	}
	return strings.Join(items, ", ")
}

// MostMessage limits the message of a condition, an Event and a log line, in bytes. It is the API
// server's limit for Events.
const MostMessage = events.LongestNote

// leastText is how much of a text has to have room behind its cause. It would say nothing else.
const leastText = 100

// Message returns the message of a condition or an Event. It begins with the cause, and has all of it.
func (o Outcome) Message() string {
	if o.named {
		return Shorten(o.Text, MostMessage)
	}
	return o.placedAt(o.At.prefix())
}

// Logged returns the message of a log line, which has the rule and the child apart.
func (o Outcome) Logged() string { return o.placedAt("") }

func (o Outcome) placedAt(position string) string {
	cause, text := Shorten(o.Cause, MostMessage), position+o.Text
	if cause != "" && o.Text == o.Cause {
		text = strings.TrimSuffix(position, ": ")
	}
	switch rest := MostMessage - len(cause) - len(" ()"); {
	case cause == "":
		return Shorten(text, MostMessage)
	case text == "" || rest < min(leastText, len(text)):
		return cause
	default:
		return cause + " (" + Shorten(text, rest) + ")"
	}
}

// Shorten puts a message into one line, and cuts out its middle if it is too long. The API server quotes values there,
// and the cause comes behind them.
func Shorten(s string, most int) string {
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
