package cron

import (
	"testing"
	"time"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestTimesOfSchedules(t *testing.T) {
	for _, c := range []struct{ schedule, now, last, next string }{
		{"0 3 * * *", "2026-03-10T02:59:59Z", "2026-03-09T03:00:00Z", "2026-03-10T03:00:00Z"},
		{"0 3 * * *", "2026-03-10T03:00:00Z", "2026-03-10T03:00:00Z", "2026-03-11T03:00:00Z"},
		{"0 3 * * *", "2026-03-10T03:00:59Z", "2026-03-10T03:00:00Z", "2026-03-11T03:00:00Z"},
		{"*/15 * * * *", "2026-12-31T23:50:00Z", "2026-12-31T23:45:00Z", "2027-01-01T00:00:00Z"},
		{"5/20 8-9 * * *", "2026-01-01T00:00:00Z", "2025-12-31T09:45:00Z", "2026-01-01T08:05:00Z"},
		{"30 9 * * mon-fri", "2026-11-21T12:00:00Z", "2026-11-20T09:30:00Z", "2026-11-23T09:30:00Z"}, // A Saturday.
		{"0 0 1,15 * FRI", "2026-11-12T00:00:00Z", "2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z"},   // Either of the days.
		{"0 0 */2 * fri", "2026-11-12T00:00:00Z", "2026-11-11T00:00:00Z", "2026-11-13T00:00:00Z"},    // Likewise.
		{"0 0 13 * ?", "2026-11-12T00:00:00Z", "2026-10-13T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"0 0 29 2 *", "2097-01-01T00:00:00Z", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"@weekly", "2026-11-12T00:00:00Z", "2026-11-08T00:00:00Z", "2026-11-15T00:00:00Z"},
		{"0 12 * jun *", "2026-11-12T00:00:00+14:00", "2026-06-30T12:00:00Z", "2027-06-01T12:00:00Z"},
		{"0 0 30 2 *", "2026-11-12T00:00:00Z", "", ""},
		{"1/9223372036854775807 3 * * *", "2026-01-01T03:02:00Z", "2026-01-01T03:01:00Z", "2026-01-02T03:01:00Z"},
		{"*/60 3-4/24 * * *", "2026-01-01T03:02:00Z", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"},
	} {
		s, err := Parse(c.schedule)
		if err != nil {
			t.Fatal(err)
		}
		show := func(at time.Time, ok bool) string {
			if !ok {
				return ""
			}
			return at.Format(time.RFC3339)
		}
		now := at(t, c.now)
		if last, next := show(s.Last(now)), show(s.Next(now)); last != c.last || next != c.next {
			t.Errorf("%s at %s\n got %s and %s\nwant %s and %s", c.schedule, c.now, last, next, c.last, c.next)
		}
	}
}

// Every time of a schedule follows from the one before it, in both directions.
func TestNextAndLastAgree(t *testing.T) {
	for _, schedule := range []string{"7 3 * * *", "*/7 */5 * * *", "0 0 31 * *", "0 12 1-7 * mon", "59 23 28 2 *"} {
		s, err := Parse(schedule)
		if err != nil {
			t.Fatal(err)
		}
		now := at(t, "2026-01-01T00:00:30Z")
		for range 100 {
			next, ok := s.Next(now)
			if !ok || !next.After(now) {
				t.Fatalf("%s: %s follows %s", schedule, next, now)
			}
			if last, _ := s.Last(next); !last.Equal(next) {
				t.Fatalf("%s: the last time at %s is %s", schedule, next, last)
			}
			if last, _ := s.Last(next.Add(-time.Second)); last.After(now) {
				t.Fatalf("%s: %s is between %s and %s", schedule, last, now, next)
			}
			now = next
		}
	}
}

// TestZones compares the times of schedules with the local times of all minutes around changes of the clocks.
func TestZones(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"30 2 * * *", "*/20 1-3 * * *", "0 0 * * sun"} {
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			in := s.In(zone)
			for _, begin := range []string{
				"2026-03-07T12:00:00Z", "2026-03-28T12:00:00Z", "2026-04-04T06:00:00Z", "2026-10-03T06:00:00Z",
				"2026-10-24T12:00:00Z", "2026-10-31T12:00:00Z", "2028-12-30T12:00:00Z",
			} {
				var last time.Time
				var waiting []time.Time // for the next time
				for now := at(t, begin); now.Before(at(t, begin).AddDate(0, 0, 2)); now = now.Add(time.Minute) {
					local := now.In(zone)
					if s.hasDay(local) && s.hour.has(local.Hour()) && s.minute.has(local.Minute()) {
						for _, before := range waiting {
							if next, _ := in.Next(before); !next.Equal(now) {
								t.Fatalf("%s in %s after %s: %s, want %s", text, name, before, next, now)
							}
						}
						last, waiting = now, nil
					}
					if got, _ := in.Last(now.Add(59 * time.Second)); !last.IsZero() && !got.Equal(last) {
						t.Fatalf("%s in %s at %s: %s, want %s", text, name, now, got, last)
					}
					waiting = append(waiting, now)
				}
			}
		}
	}
}

// TestRareTimesInZones searches over many changes of the clocks.
func TestRareTimesInZones(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for schedule, want := range map[string][2]string{
		"0 0 29 2 *": {"2096-02-29T05:00:00Z", "2104-02-29T05:00:00Z"},
		"0 0 30 2 *": {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		s, err := Parse(schedule)
		if err != nil {
			t.Fatal(err)
		}
		last, _ := s.In(zone).Last(at(t, "2097-01-01T00:00:00Z"))
		next, _ := s.In(zone).Next(at(t, "2097-01-01T00:00:00Z"))
		if got := [2]string{last.Format(time.RFC3339), next.Format(time.RFC3339)}; got != want {
			t.Errorf("%s: %v, want %v", schedule, got, want)
		}
	}
}

func TestMistakesInSchedules(t *testing.T) {
	for schedule, want := range map[string]string{
		"0 3 * *":             `"0 3 * *" has 4 fields, a schedule has 5: minute, hour, day of month, month and day of week`,
		"60 3 * * *":          `"60" is not a minute, from 0 to 59`,
		"0 3 0 * *":           `"0" is not a day of month, from 1 to 31`,
		"0 3 * * 5-1":         `"5-1" is not a day of week, from 0 to 6`,
		"*/0 * * * *":         `"*/0" is not a minute, from 0 to 59`,
		"@nightly":            `"@nightly" is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly`,
		"CRON_TZ=UTC 0 * * *": "a time zone cannot be part of a schedule",
		"":                    `"" has 0 fields, a schedule has 5: minute, hour, day of month, month and day of week`,
	} {
		if _, err := Parse(schedule); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", schedule, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, schedule := range []string{"0 3 * * *", "*/15 8-9 1,15 jan mon-fri", "1/9223372036854775807 * * * *", "@daily", "? ? ? ? ?"} {
		f.Add(schedule)
	}
	now := time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
	f.Fuzz(func(t *testing.T, schedule string) {
		s, err := Parse(schedule)
		if err != nil {
			return
		}
		if next, ok := s.Next(now); ok && !next.After(now) {
			t.Errorf("%s: %s follows %s", schedule, next, now)
		}
		if last, ok := s.Last(now); ok && last.After(now) {
			t.Errorf("%s: the last time at %s is %s", schedule, now, last)
		}
	})
}
