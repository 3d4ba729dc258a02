package expr

import (
	"testing"

	"reconcel/rules/source"
)

func TestTimeZones(t *testing.T) {
	vars := variables{"self": object{"winter": "Europe/Berlin", "offset": "-02:30", "utc": "", "local": "Local", "none": "Europe/Berln", "bad": "+25:00"}}
	known := map[string]*Shape{"self": Self("self")}
	const at = `timestamp("2026-01-02T03:04:05Z").`
	for src, want := range map[string]string{
		`getHours("Europe/Berlin")`:         `4`,
		`getHours(self.winter)`:             `4`,
		`getHours(self.offset)`:             `0`,
		`getHours(self.utc)`:                `3`,
		`getHours("UTC")`:                   `3`,
		`getDate("America/Los_Angeles")`:    `1`,
		`getHours(self.local)`:              `error rules.yaml:1:43 getHours() does not take the time zone of the machine: write a name such as Europe/Berlin, or an offset such as +02:00`,
		`getMinutes(self.none)`:             `error rules.yaml:1:45 getMinutes() does not know the time zone: write a name such as Europe/Berlin, or an offset such as +02:00`,
		`getFullYear(self.bad)`:             `error rules.yaml:1:46 getFullYear() does not know the time zone: write a name such as Europe/Berlin, or an offset such as +02:00`,
		`getDayOfWeek("Asia/Kolkata") == 5`: `true`,
	} {
		if got := eval(t, compile(t, at+src, known), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	for src, want := range map[string]string{
		`getHours("Local")`:      `getHours(): "Local" is the time zone of the machine on which reconcel runs: write a name such as Europe/Berlin, or an offset such as +02:00`,
		`getDate("Europe/Brln")`: `getDate(): "Europe/Brln" is not a time zone: write a name such as Europe/Berlin, or an offset such as +02:00`,
	} {
		scope, err := NewScope()
		if err != nil {
			t.Fatal(err)
		}
		checked, issues := scope.Check(&source.Expr{Text: at + src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1}}, Any)
		if issues != nil {
			t.Fatal(issues)
		}
		if _, wrong := checked.Program(nil); wrong == nil || wrong.Message != want {
			t.Errorf("%s\n got %v\nwant %s", src, wrong, want)
		}
	}
}
