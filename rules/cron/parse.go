package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A field is one of the five parts of a schedule with its values.
type field struct {
	name        string
	least, most int
	names       []string // of the values, from least on
}

var fields = []field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// macros are the names of schedules.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads a schedule. The error is for the author of the schedule.
func Parse(text string) (Schedule, error) {
	if strings.HasPrefix(text, "@") {
		meant, ok := macros[text]
		if !ok {
			return Schedule{}, fmt.Errorf("%q is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
				text)
		}
		text = meant
	}
	if strings.Contains(text, "TZ=") {
		return Schedule{}, errors.New("a time zone cannot be part of a schedule")
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return Schedule{}, fmt.Errorf("%q has %d fields, a schedule has 5: minute, hour, day of month, month and day of week",
			text, len(parts))
	}
	var sets [5]values
	var restricts [5]bool
	for i, f := range fields {
		restricts[i] = true
		for part := range strings.SplitSeq(parts[i], ",") {
			set, all, ok := f.parse(part)
			if !ok {
				return Schedule{}, fmt.Errorf("%q is not a %s, from %d to %d", part, f.name, f.least, f.most)
			}
			sets[i] |= set
			restricts[i] = restricts[i] && !all
		}
	}
	return Schedule{minute: sets[0], hour: sets[1], dayOfMonth: sets[2], month: sets[3], dayOfWeek: sets[4],
		eitherDay: restricts[2] && restricts[4]}, nil
}

// parse reads one part of a field: *, a value or a range, and a step. all reports whether
// it is * or ? without a step.
func (f field) parse(part string) (set values, all, ok bool) {
	numbers, text, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, false, false
		}
		step = min(n, f.most+1) // One beyond the range gives the first value alone.
	}
	first, last := f.least, f.most
	all = numbers == "*" || numbers == "?"
	if !all {
		from, to, isRange := strings.Cut(numbers, "-")
		if first, ok = f.value(from); !ok {
			return 0, false, false
		}
		switch {
		case isRange:
			if last, ok = f.value(to); !ok || first > last {
				return 0, false, false
			}
		case !stepped: // 5/2 begins at 5.
			last = first
		}
	}
	for n := first; n <= last; n += step {
		set |= 1 << n
	}
	return set, all && step == 1, true
}

func (f field) value(s string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(s)); i >= 0 {
		return f.least + i, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= f.least && n <= f.most
}
