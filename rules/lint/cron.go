package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A cronField is a field of a schedule with its values.
type cronField struct {
	name        string
	least, most int
	names       []string // of the values, from least on
}

// cronFields are the fields that github.com/robfig/cron/v3 reads, which Kubernetes uses.
var cronFields = []cronField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var cronMacros = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// cronMistake returns what is wrong with a schedule, or "".
func cronMistake(s string) string {
	if every, ok := strings.CutPrefix(s, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Sprintf("%q is not a duration, such as 1h30m", every)
		}
		return ""
	}
	if strings.HasPrefix(s, "@") {
		if !slices.Contains(cronMacros, s) {
			return fmt.Sprintf("%q is not one of %s", s, strings.Join(cronMacros, ", "))
		}
		return ""
	}
	if strings.Contains(s, "TZ=") {
		return "a time zone belongs into timeZone"
	}
	fields := strings.Fields(s)
	if len(fields) != len(cronFields) {
		return fmt.Sprintf("%q has %d fields, a schedule has 5: minute, hour, day of month, month and day of week", s, len(fields))
	}
	for i, f := range cronFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			if !f.accepts(part) {
				return fmt.Sprintf("%q is not a %s, from %d to %d", part, f.name, f.least, f.most)
			}
		}
	}
	return ""
}

// accepts reports whether a part of a field is valid: *, a value or a range, and a step.
func (f cronField) accepts(part string) bool {
	values, step, stepped := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
		return false
	}
	if values == "*" || values == "?" {
		return true
	}
	from, to, isRange := strings.Cut(values, "-")
	first, ok := f.value(from)
	if !isRange {
		return ok
	}
	last, too := f.value(to)
	return ok && too && first <= last
}

func (f cronField) value(s string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(s)); i >= 0 {
		return f.least + i, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= f.least && n <= f.most
}
