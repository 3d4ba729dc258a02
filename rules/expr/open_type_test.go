package expr

import (
	"strings"
	"testing"
)

// TestConversionsOfValuesOfUnknownType converts values whose type CEL's checker would take from the first function that is
// declared for several types.
func TestConversionsOfValuesOfUnknownType(t *testing.T) {
	vars := variables{"self": object{
		"m": object{"n": "3", "b": "true", "t": "2024-01-02T03:04:05Z", "d": "90s"}, "l": list{"2", "1"}, "deep": object{"m": object{"n": "4"}},
	}}
	known := map[string]*Shape{"self": Self("self")}
	for src, want := range map[string]string{
		`int(self.m[?"n"].value())`:                                           `3`,
		`self.m[?"n"].optMap(v, int(v)).orValue(0)`:                           `3`,
		`self.m[?"n"].optMap(v, uint(v)).orValue(0u)`:                         `3`,
		`self.m[?"n"].optMap(v, double(v) / 2.0)`:                             `1.5`,
		`self.m[?"b"].optMap(v, bool(v))`:                                     `true`,
		`self.m[?"n"].optMap(v, string(v) + v)`:                               `"33"`,
		`self.m[?"n"].optMap(v, size(bytes(v)))`:                              `1`,
		`self.m[?"t"].optMap(v, timestamp(v).getFullYear())`:                  `2024`,
		`self.m[?"d"].optMap(v, duration(v).getSeconds())`:                    `90`,
		`self.m[?"n"].optFlatMap(v, optional.of(int(v)))`:                     `3`,
		`self.m[?"n"].optMap(v, int(v) > 2 && v != "4")`:                      `true`,
		`self.m[?"n"].optMap(v, v.indexOf("3"))`:                              `0`,
		`self.l.first().optMap(v, int(v))`:                                    `2`,
		`int(self.l.last().value())`:                                          `1`,
		`self.l.distinct().map(v, int(v))`:                                    `[2,1]`,
		`self.l.slice(0, 1).map(v, int(v))`:                                   `[2]`,
		`self.l.sortBy(v, int(v)).map(v, int(v))`:                             `[1,2]`,
		`[self.l].flatten().map(v, int(v))`:                                   `[2,1]`,
		`self.deep[?"m"][?"n"].optMap(v, int(v))`:                             `4`,
		`self[?"deep"].orValue({})[?"m"].orValue({})[?"n"].optMap(v, int(v))`: `4`,
		`self.m[?"x"].orValue([]).map(v, int(v))`:                             `[]`,
		`self.m[?"n"].or(self.m[?"b"]).optMap(v, int(v))`:                     `3`,
	} {
		if got := eval(t, compile(t, src, known), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestMixedNumbersAreComputedOnce nests sums of an integer and a decimal number so deep that nothing may be evaluated
// twice.
func TestMixedNumbersAreComputedOnce(t *testing.T) {
	vars := variables{"self": object{"n": int64(1), "f": 0.5, "s": "a"}}
	known := map[string]*Shape{"self": Self("self")}
	for open, want := range map[string]string{"(self.n - ": "0.5", "(1 - ": "0.5", "(self.n * ": "0.5"} {
		src := strings.Repeat(open, 40) + "self.f" + strings.Repeat(")", 40)
		if got := eval(t, compile(t, src, known), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	src := strings.Repeat("(", 40) + "self.s" + strings.Repeat(" || self.n)", 40)
	if got := eval(t, compile(t, src, known), vars); !strings.Contains(got, "'||' does not take") {
		t.Errorf("got %s", got)
	}
}

// TestMismatchesNameTheTypes has values whose types are known only when the expression runs.
func TestMismatchesNameTheTypes(t *testing.T) {
	vars := variables{"self": object{"n": int64(1), "f": 1.5, "s": "a", "b": true, "l": list{int64(1), "a"}, "m": object{}, "none": nil}}
	known := map[string]*Shape{"self": Self("self")}
	for src, want := range map[string]string{
		`int(self.m)`:               `1:4 int() does not take (map)`,
		`int(self.l)`:               `1:4 int() does not take (list of integer and string)`,
		`bool(self.n)`:              `1:5 bool() does not take (integer)`,
		`bytes(self.b)`:             `1:6 bytes() does not take (boolean)`,
		`duration(self.n)`:          `1:9 duration() does not take (integer)`,
		`timestamp(self.f)`:         `1:10 timestamp() does not take (number)`,
		`int(self.none)`:            `1:4 int() does not take (null)`,
		`int(self[?"s"])`:           `1:4 int() does not take (optional string) (give it a default with orValue() first)`,
		`size(self.n)`:              `1:5 size() does not take (integer)`,
		`self.s + self.n`:           `1:8 '+' does not take (string, integer) (to join texts, write string(...) around the integer)`,
		`self.s - 1`:                `1:8 '-' does not take (string, integer)`,
		`self.s < self.n`:           `1:8 '<' does not take (string, integer)`,
		`-self.s`:                   `1:1 '-' does not take (string)`,
		`!self.s`:                   `1:1 '!' does not take (string)`,
		`self.s && self.n`:          `1:8 '&&' does not take (string, integer)`,
		`self.n || self.none`:       `1:8 '||' does not take (integer, null)`,
		`self.n in self.s`:          `1:8 'in' does not take (integer, string)`,
		`self.s.contains(self.n)`:   `1:16 contains() of string does not take (integer)`,
		`self.l.sum()`:              `1:11 a list of integer and string has no sum()`,
		`self.n.map(x, x)`:          `1:5 a value of type integer cannot be iterated`,
		`self.n.all(x, x)`:          `1:5 a value of type integer cannot be iterated`,
		`self.l.all(x, x)`:          `1:11 '&&' does not take (boolean, integer)`,
		`merge(self.m, self.l)`:     `1:6 merge() does not take (map, list of integer and string)`,
		`lists.range(self.s)`:       `1:12 lists.range() does not take (string)`,
		`self.l.map(x, x - 1)`:      `1:17 '-' does not take (string, integer)`,
		`quantity(self.n)`:          `1:9 quantity() does not take (integer) (write quantity(string(...)))`,
		`hash.sha256(self.n)`:       `1:12 hash.sha256() does not take (integer)`,
		`self.l.contains("a")`:      `1:16 contains() of list of integer and string does not take (string) (write value in list)`,
		`uint(1) - self.n`:          `1:9 '-' does not take (unsigned integer, integer)`,
		`self.n.startsWith("a")`:    `1:18 startsWith() of integer does not take (string)`,
		`elapsed(self.n, self.s)`:   `1:8 elapsed() does not take (integer, string)`,
		`deepMerge(self.m, self.n)`: `1:10 deepMerge() does not take (map, integer)`,
	} {
		if got := eval(t, compile(t, src, known), vars); got != "error rules.yaml:"+want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}
