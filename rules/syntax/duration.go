package syntax

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// duration reads a literal duration that is at least as long as given.
func (s scope) duration(n *yaml.Node, least time.Duration) Duration {
	if n == nil || broken(n) {
		return Duration{}
	}
	p := s.text.pos(n)
	if n.Kind != yaml.ScalarNode || !isText(n) {
		e := s.errorf(p, "expected a duration, got %s", describe(n))
		e.Hint = "write it like 90s, 10m or 1h30m"
		if plainNumber.MatchString(n.Value) {
			e.Hint = "write " + n.Value + "s, " + n.Value + "m or " + n.Value + "h"
		}
		return Duration{}
	}
	str, ok := s.literal(n)
	if !ok {
		return Duration{}
	}
	d, err := time.ParseDuration(str.Value)
	switch {
	case err != nil:
		s.errorf(p, "%q is not a duration", str.Value).Hint = hintDuration(str.Value)
	case d < least && least < time.Second:
		s.errorf(p, "must be more than 0, got %s", str.Value)
	case d < least:
		s.errorf(p, "must be at least %s, got %s", least, str.Value)
	default:
		return Duration{d, p}
	}
	return Duration{}
}

var (
	plainNumber = regexp.MustCompile(`^[1-9][0-9]*$`)
	longUnit    = regexp.MustCompile(`([0-9])(seconds|second|secs|sec|minutes|minute|mins|min|hours|hour|hrs|hr)`)
	bigUnit     = regexp.MustCompile(`^(?:([0-9]{1,6})w)?(?:([0-9]{1,6})d)?(.*)$`)
)

// hintDuration says how Go writes a duration that it does not understand.
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
