package cron

import "time"

// A Schedule is a set of minutes.
type Schedule struct {
	minute, hour, dayOfMonth, month, dayOfWeek values
	// eitherDay: dayOfMonth and dayOfWeek both restrict the day, and one of them suffices.
	eitherDay bool
}

// values is a set of numbers below 64.
type values uint64

func (v values) has(n int) bool { return v&(1<<n) != 0 }

// horizon is the number of days to search. Eight years lie between the 29th of February 2096
// and the next one, because 2100 is no leap year.
const horizon = 8*366 + 1

// Next returns the first time after t, and false if there is none.
func (s Schedule) Next(t time.Time) (time.Time, bool) {
	return s.search(t.UTC().Truncate(time.Minute).Add(time.Minute), forward)
}

// Last returns the last time that is not after t, and false if there is none.
func (s Schedule) Last(t time.Time) (time.Time, bool) {
	return s.search(t.UTC().Truncate(time.Minute), backward)
}

// A direction is that of a search in time.
type direction int

const (
	forward  direction = 1
	backward direction = -1
)

// first returns the first number of a range from 0 in a direction.
func (d direction) first(most int) int {
	if d == forward {
		return 0
	}
	return most
}

// search returns the first time from t on, in a direction. Days of UTC have 24 hours.
func (s Schedule) search(t time.Time, d direction) (time.Time, bool) {
	hour, minute := t.Hour(), t.Minute()
	for day := range horizon {
		at := time.Date(t.Year(), t.Month(), t.Day()+int(d)*day, 0, 0, 0, 0, time.UTC)
		if day > 0 {
			hour, minute = d.first(23), d.first(59)
		}
		if !s.hasDay(at) {
			continue
		}
		for h := hour; h >= 0 && h < 24; h += int(d) {
			if h != hour {
				minute = d.first(59)
			}
			if !s.hour.has(h) {
				continue
			}
			for m := minute; m >= 0 && m < 60; m += int(d) {
				if s.minute.has(m) {
					return at.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute), true
				}
			}
		}
	}
	return time.Time{}, false
}

func (s Schedule) hasDay(t time.Time) bool {
	if !s.month.has(int(t.Month())) {
		return false
	}
	ofMonth, ofWeek := s.dayOfMonth.has(t.Day()), s.dayOfWeek.has(int(t.Weekday()))
	if s.eitherDay {
		return ofMonth || ofWeek
	}
	return ofMonth && ofWeek
}
