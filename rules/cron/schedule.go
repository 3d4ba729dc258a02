package cron

import "time"

// A Schedule is a set of minutes, by what clocks in a time zone show. A minute that they skip is not part of it, and
// one that they show twice is part of it twice.
type Schedule struct {
	minute, hour, dayOfMonth, month, dayOfWeek values
	// eitherDay: dayOfMonth and dayOfWeek both restrict the day, and one of them suffices.
	eitherDay bool
	zone      *time.Location // nil: UTC
}

// In returns the schedule in another time zone.
func (s Schedule) In(zone *time.Location) Schedule {
	s.zone = zone
	return s
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

// beyond reports whether a time comes after another one in a direction.
func (d direction) beyond(t, bound time.Time) bool { return t.Compare(bound) == int(d) }

// search returns the first time from t on, in a direction. Between two changes of the clocks, local time differs from
// UTC by a constant.
func (s Schedule) search(t time.Time, d direction) (time.Time, bool) {
	last := t.AddDate(0, 0, int(d)*horizon)
	for !d.beyond(t, last) {
		local := t
		if s.zone != nil {
			local = t.In(s.zone)
		}
		bound := last
		begin, end := local.ZoneBounds()
		switch {
		case d == forward && !end.IsZero() && end.Before(last):
			bound = end.UTC().Add(-time.Minute)
		case d == backward && !begin.IsZero() && begin.After(last):
			bound = begin.UTC()
		}
		if d.beyond(t, bound) { // On the last day of a leap year, Go may say that the clocks have changed the day before.
			bound = t
		}
		_, seconds := local.Zone()
		offset := time.Duration(seconds) * time.Second
		if at, found := s.searchDays(t.Add(offset), bound.Add(offset), d); found {
			return at.Add(-offset), true
		}
		t = bound.Add(time.Duration(d) * time.Minute)
	}
	return time.Time{}, false
}

// searchDays returns the first time from t on, in a direction, up to a bound. Days of UTC have 24 hours.
func (s Schedule) searchDays(t, bound time.Time, d direction) (time.Time, bool) {
	hour, minute := t.Hour(), t.Minute()
	for day := range horizon + 1 {
		at := time.Date(t.Year(), t.Month(), t.Day()+int(d)*day, 0, 0, 0, 0, time.UTC)
		if d.beyond(at, bound) && d.beyond(at.AddDate(0, 0, 1), bound) {
			break
		}
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
					found := at.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)
					return found, !d.beyond(found, bound)
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
