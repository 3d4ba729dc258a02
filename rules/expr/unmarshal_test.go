package expr

import (
	"strings"
	"testing"
)

// TestTryUnmarshal reads texts that may be invalid.
func TestTryUnmarshal(t *testing.T) {
	vars := world()
	vars["self"] = object{"spec": object{"json": `{"a": [1, 2.5, null]}`, "cut": `{"a": `, "yaml": "a: [1]\nb: c", "tab": "a: b: c", "n": int64(1),
		"empty": "", "twice": "a: 1\n---\na: 2", "big": "[" + strings.Repeat("1,", 200_000) + "1]"}}
	for src, want := range map[string]string{
		`json.tryUnmarshal(self.spec.json).?a.orValue([])`:    "[1,2.5,null]",
		`json.tryUnmarshal(self.spec.cut)`:                    "none",
		`json.tryUnmarshal(self.spec.cut).orValue({})`:        "{}",
		`json.tryUnmarshal(self.spec.empty)`:                  "none",
		`json.tryUnmarshal("null").hasValue()`:                "true",
		`json.tryUnmarshal(self.spec.n)`:                      "error rules.yaml:1:18 json.tryUnmarshal() does not take (integer)",
		`json.tryUnmarshal(service.data.x)`:                   "waits service.data.x",
		`json.tryUnmarshal(self.spec.big).orValue([]).size()`: "200001",
		`yaml.tryUnmarshal(self.spec.yaml)`:                   `{"a":[1],"b":"c"}`,
		`yaml.tryUnmarshal(self.spec.tab).hasValue()`:         "false",
		`yaml.tryUnmarshal(self.spec.twice)`:                  "none",
		`yaml.tryUnmarshal(self.spec.empty).hasValue()`:       "true",
	} {
		if got := eval(t, compile(t, src, shapes()), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}
