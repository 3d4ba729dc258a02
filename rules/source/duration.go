package source

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
