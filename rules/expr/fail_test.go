package expr

import (
	"strings"
	"testing"
)

func TestFail(t *testing.T) {
	vars := world()
	vars["self"] = object{"spec": object{"long": strings.Repeat("é", 600), "empty": " \n", "n": int64(1), "nil": nil}}
	for src, want := range map[string]string{
		`fail("no")`:                   "error rules.yaml:1:5 no",
		`fail("a" + " b ")`:            "error rules.yaml:1:5 a b",
		`true ? 1 : fail("no")`:        "1",
		`(false ? 1 : fail("no")) + 1`: "error rules.yaml:1:18 no",
		`true || fail("no")`:           "true",
		`false && fail("no")`:          "false",
		`false || fail("no")`:          "error rules.yaml:1:14 no",
		`[1, 2].map(i, i > 1 ? fail("not " + string(i)) : i)`:                        "error rules.yaml:1:27 not 2",
		`self.spec.?nope.orValue("x").startsWith("x") ? optional.of(1) : fail("no")`: "1",
		`fail(service.spec.x)`:  "waits service.spec.x",
		`fail(self.spec.long)`:  "error rules.yaml:1:5 " + strings.Repeat("é", 512) + "…",
		`fail(self.spec.empty)`: "error rules.yaml:1:5 fail() needs a message",
		`fail(self.spec.n)`:     "error rules.yaml:1:5 fail() does not take (integer)",
		`fail(self.spec.nil)`:   "error rules.yaml:1:5 fail() does not take (null)",
	} {
		if got := eval(t, compile(t, src, shapes()), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}
