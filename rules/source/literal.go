package source

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// listsOfText are the keys of lists whose items are text.
var listsOfText = []string{"after", "namespaces", "ignoreFields", "values"}

// WrongShape records an error for a value of the wrong shape.
func (v Value) WrongShape(expected string) {
	if v.Broken() {
		return
	}
	e := v.Errorf("expected %s, got %s", expected, v.Describe())
	switch {
	case expected == "a list" && v.IsMap():
		e.Hint = "begin each item with \"- \""
	case expected == "a list" && v.IsScalar() && !v.Computed() &&
		slices.Contains(listsOfText, v.path[strings.LastIndexByte(v.path, '.')+1:]):
		e.Hint = "write [" + Quoted(v.node.Value) + "]"
	case strings.HasPrefix(expected, "a map") && v.IsList() && v.node.Style&yaml.FlowStyle == 0:
		e.Hint = "write its keys without \"- \""
	}
}

// IsTextOf reports whether the value is text, and records an error if it is something
// else. noun names the text in the error.
func (v Value) IsTextOf(noun string) bool {
	switch {
	case v.Missing() || v.Broken():
	case !v.IsScalar() || v.IsNull():
		v.WrongShape(noun)
	case !v.IsText():
		v.Errorf("expected %s, got %s", noun, v.Describe()).Hint = "write " + Quoted(v.node.Value)
	default:
		return true
	}
	return false
}

// Literal returns a string without ${...}, and whether the value is one.
func (v Value) Literal() (String, bool) {
	switch {
	case !v.IsTextOf("a string"):
	case strings.Contains(v.node.Value, "${"):
		v.Errorf("must be a literal, ${...} is not allowed here")
	case v.node.Value == "":
		v.Errorf("is empty")
	default:
		return String{v.node.Value, v.Pos()}, true
	}
	return String{}, false
}

// OneOf returns a literal that must be one of a few strings.
func (v Value) OneOf(cs Choices) String { return oneOf(v, cs.texts()) }

func oneOf(v Value, texts []string) String {
	if !v.Missing() && !v.IsText() {
		v.WrongShape(joinOr(texts))
		return String{}
	}
	s, ok := v.Literal()
	if !ok || slices.Contains(texts, s.Value) {
		return s
	}
	v.Errorf("expected %s, got %q", joinOr(texts), s.Value).Hint = Suggest(s.Value, texts)
	return String{}
}

// joinOr joins strings with commas and "or".
func joinOr(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// A Duration is a literal duration of a file and its position.
type Duration struct {
	Value time.Duration
	Pos   Pos
}

// Duration reads a literal duration with a minimum.
func (v Value) Duration(least time.Duration) Duration {
	if v.Missing() || v.Broken() {
		return Duration{}
	}
	if !v.IsText() {
		e := v.Errorf("expected a duration, got %s", v.Describe())
		e.Hint = "write it like 90s, 10m or 1h30m"
		if n := v.node.Value; plainNumber.MatchString(n) {
			e.Hint = "write " + n + "s, " + n + "m or " + n + "h"
		}
		return Duration{}
	}
	s, ok := v.Literal()
	if !ok {
		return Duration{}
	}
	d, err := time.ParseDuration(s.Value)
	switch {
	case err != nil:
		v.Errorf("%q is not a duration", s.Value).Hint = hintDuration(s.Value)
	case d < least && least < time.Second:
		v.Errorf("must be more than 0, got %s", s.Value)
	case d < least:
		v.Errorf("must be at least %s, got %s", least, s.Value)
	default:
		return Duration{d, s.Pos}
	}
	return Duration{}
}

var (
	plainNumber = regexp.MustCompile(`^[1-9][0-9]*$`)
	longUnit    = regexp.MustCompile(`([0-9])(seconds|second|secs|sec|minutes|minute|mins|min|hours|hour|hrs|hr)`)
	bigUnit     = regexp.MustCompile(`^(?:([0-9]{1,6})w)?(?:([0-9]{1,6})d)?(.*)$`)
)

// hintDuration returns a duration in Go's notation for one that Go cannot parse.
func hintDuration(text string) string {
	tight := strings.ToLower(strings.ReplaceAll(text, " ", ""))
	tight = strings.NewReplacer("weeks", "w", "week", "w", "days", "d", "day", "d").Replace(tight)
	tight = longUnit.ReplaceAllStringFunc(tight, func(unit string) string { return unit[:2] })
	m := bigUnit.FindStringSubmatch(tight)
	weeks, _ := strconv.Atoi("0" + m[1])
	days, _ := strconv.Atoi("0" + m[2])
	rest := m[3]
	if days += 7 * weeks; days > 0 {
		rest = strconv.Itoa(24*days) + "h" + rest
		if _, hours, found := strings.Cut(m[3], "h"); found {
			more, err := strconv.Atoi(strings.TrimSuffix(m[3], "h"+hours))
			if err == nil {
				rest = strconv.Itoa(24*days+more) + "h" + hours
			}
		}
	}
	if _, err := time.ParseDuration(rest); err != nil {
		return "write it like 90s, 10m or 1h30m"
	}
	return "write " + rest
}
