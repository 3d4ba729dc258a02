package expr

import (
	"maps"
	"testing"
	"time"

	"reconcel/rules/source"
)

// at evaluates an expression at a time, and returns the result with the next moment.
func at(t *testing.T, now, expression string) string {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, now)
	if err != nil {
		t.Fatal(err)
	}
	clock := ClockAt(when)
	vars := maps.Clone(world())
	vars["t"], vars["gone"], vars[ClockVariable] = "2026-03-10T12:00:00Z", NewUnknown("gone"), &clock
	got := eval(t, compile(t, expression, map[string]*Shape{"self": Self("self"), "t": nil, "gone": Live("gone")}), vars)
	if next := clock.Next(); !next.IsZero() {
		got += " until " + next.Format(time.RFC3339Nano)
	}
	return got
}

func TestElapsed(t *testing.T) {
	for _, c := range []struct{ now, expression, want string }{
		{"2026-03-10T12:59:59.9Z", `elapsed(t, "1h")`, "false until 2026-03-10T13:00:00Z"},
		{"2026-03-10T13:00:00Z", `elapsed(t, "1h")`, "true"},
		{"2026-03-10T13:00:00Z", `elapsed(timestamp(t), duration("61m"))`, "false until 2026-03-10T13:01:00Z"},
		{"2026-03-10T13:00:00Z", `elapsed(timestamp(t) + duration("1m"), "1h")`, "false until 2026-03-10T13:01:00Z"},
		{"2026-03-10T13:00:00Z", `elapsed("2026-03-10T13:00:00.5+01:00", "1h")`, "false until 2026-03-10T14:00:00.5+01:00"},
		{"2026-03-01T00:00:00Z", `elapsed(t, "-240h")`, "true"},
		{"2026-02-28T00:00:00Z", `elapsed(t, "-240h")`, "false until 2026-02-28T12:00:00Z"},
		{"2026-03-10T13:00:00Z", `elapsed(optional.none(), "1h")`, "false"},
		{"2026-03-10T13:00:00Z", `elapsed(condition(self, "Ready").?lastTransitionTime, "1h")`, "false"},
		{"2026-03-10T13:00:00Z", `elapsed(self.?spec.?since.or(optional.of(t)), "2h")`, "false until 2026-03-10T14:00:00Z"},
		{"2026-03-10T13:00:00Z", `elapsed(gone.metadata.creationTimestamp, "1h")`, "waits gone.metadata.creationTimestamp"},
		{"2026-03-10T13:00:00Z", `["3h", "2h"].filter(d, elapsed(t, d))`, "[] until 2026-03-10T14:00:00Z"},
		{"2026-03-10T13:00:00Z", `["1h", "2h"].filter(d, elapsed(t, d))`, `["1h"] until 2026-03-10T14:00:00Z`},
		{"2026-03-10T13:00:00Z", `self.spec.replicas > 9 && elapsed(t, "2h")`, "false"}, // It is not asked.
		{"2026-03-10T13:00:00Z", `elapsed(self.spec.image, "1h")`, "error rules.yaml:1:8 elapsed(): the text is not a time, such as 2026-01-02T03:04:05Z"},
		{"2026-03-10T13:00:00Z", `elapsed(t, self.spec.image)`, "error rules.yaml:1:8 elapsed(): the text is not a duration, such as 1h30m"},
	} {
		if got := at(t, c.now, c.expression); got != c.want {
			t.Errorf("%s at %s\n got %s\nwant %s", c.expression, c.now, got, c.want)
		}
	}
}

func TestCron(t *testing.T) {
	for _, c := range []struct{ now, expression, want string }{
		{"2026-03-10T13:00:00Z", `cron("0 3 * * *", t)`, "none until 2026-03-11T03:00:00Z"},
		{"2026-03-11T03:00:00Z", `cron("0 3 * * *", t)`, `"2026-03-11T03:00:00Z" until 2026-03-12T03:00:00Z`},
		{"2026-03-13T02:00:00Z", `cron("0 3 * * *", t)`, `"2026-03-12T03:00:00Z" until 2026-03-13T03:00:00Z`},
		{"2026-03-11T12:00:00Z", `cron("0 12 * * *", timestamp(t) + duration("24h"))`, "none until 2026-03-12T12:00:00Z"}, // After, and not at, since.
		{"2026-03-01T00:00:00Z", `cron("0 3 * * *", t)`, "none until 2026-03-11T03:00:00Z"},
		{"2026-03-11T04:00:00Z", `elapsed(cron("0 3 * * *", t), "90m")`, "false until 2026-03-11T04:30:00Z"},
		{"2026-03-11T05:00:00Z", `elapsed(cron("0 3 * * *", t), "90m")`, "true until 2026-03-12T03:00:00Z"},
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", t).optMap(r, "run-" + string(int(r)))`, `"run-1773198000" until 2026-03-12T03:00:00Z`},
		{"2026-03-11T05:00:00Z", `[?cron("0 3 * * *", t)].map(r, r.getHours())`, `[3] until 2026-03-12T03:00:00Z`},
		{"2026-03-11T05:00:00Z", `cron("0 0 30 2 *", t)`, "none"},
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", self.?spec.?since)`, "none"},
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", t, "Asia/Kolkata")`, `"2026-03-10T21:30:00Z" until 2026-03-11T21:30:00Z`},
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", t, "+05:30")`, `"2026-03-10T21:30:00Z" until 2026-03-11T21:30:00Z`},
		{"2026-03-28T12:00:00Z", `cron("30 2 * * *", t, "Europe/Berlin")`, `"2026-03-28T01:30:00Z" until 2026-03-30T00:30:00Z`}, // Clocks skip 2:30 on the 29th.
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", t, "")`, `"2026-03-11T03:00:00Z" until 2026-03-12T03:00:00Z`},
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", t, self.spec.image)`, "error rules.yaml:1:5 cron() does not know the time zone: write a name such as Europe/Berlin, or an offset such as +02:00"},
		{"2026-03-11T05:00:00Z", `cron("0 3 * * *", t, "Lo" + "cal")`, "error rules.yaml:1:5 cron() does not take the time zone of the machine: write a name such as Europe/Berlin, or an offset such as +02:00"},
		{"2026-03-11T05:00:00Z", `cron(self.spec.image, t)`, "error rules.yaml:1:5 cron(): the text is not a schedule, such as 0 3 * * *"},
	} {
		if got := at(t, c.now, c.expression); got != c.want {
			t.Errorf("%s at %s\n got %s\nwant %s", c.expression, c.now, got, c.want)
		}
	}
}

func TestConstantTimesAreChecked(t *testing.T) {
	scope, err := NewScope("t")
	if err != nil {
		t.Fatal(err)
	}
	for expression, want := range map[string]string{
		`elapsed(t, "7d")`:               `elapsed(): "7d" is not a duration, such as 1h30m`,
		`cron("0 25 * * *", t)`:          `cron(): "25" is not a hour, from 0 to 23`,
		`cron("0 1 * * *", t, "x")`:      `cron(): "x" is not a time zone: write a name such as Europe/Berlin, or an offset such as +02:00`,
		`cron("0 1 * * *", t, "+25:00")`: `cron(): "+25:00" is not a time zone: write a name such as Europe/Berlin, or an offset such as +02:00`,
		`elapsed(1, "1h")`:               "elapsed() does not take (integer, string)",
		`cron("0 1 * * *", "1", 2)`:      "cron() does not take (string, string, integer)",
	} {
		checked, issues := scope.Check(&source.Expr{Text: expression}, Any)
		got := ""
		if len(issues) > 0 {
			got = issues[0].Message
		} else if _, err := checked.Program(nil); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", expression, got, want)
		}
	}
}
