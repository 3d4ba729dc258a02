package expr

import (
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
)

// TestWholeNumbersBesideDecimalOnes has a field of the type number that happens to be whole.
func TestWholeNumbersBesideDecimalOnes(t *testing.T) {
	vars := variables{"self": object{"whole": int64(3), "part": 1.5}}
	known := map[string]*Shape{"self": Self("self")}
	for src, want := range map[string]string{
		`self.whole * 2.0`:              `6`,
		`self.whole + 0.5`:              `3.5`,
		`0.5 - self.whole`:              `-2.5`,
		`self.whole / 2.0`:              `1.5`,
		`self.part * self.whole`:        `4.5`,
		`[1, 2].map(i, self.part * i)`:  `[1.5,3]`,
		`int(math.ceil(self.whole))`:    `3`,
		`math.round(self.whole) + 0.5`:  `3.5`,
		`math.isNaN(self.whole)`:        `false`,
		`string(self.whole * 500000.0)`: `"1500000"`,
		`self.whole == 3.0`:             `true`,
		`self.whole + "a"`:              `error rules.yaml:1:12 '+' does not take (integer, string) (to join texts, write string(...) around the integer)`,
	} {
		if got := eval(t, compile(t, src, known), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestADoubleCountsAsTheIntegerThatItIs computes what takes integers with a whole double, as if the same field had no schema.
func TestADoubleCountsAsTheIntegerThatItIs(t *testing.T) {
	known := map[string]*Shape{"self": Self("self")}
	of := func(n any) variables {
		return variables{"self": object{"n": n, "part": 3.5, "ns": list{n, 3.5}, "names": list{"a", "b", "c", "d", "e", "f"}, "items": list{object{"id": n, "a": "x"}}}}
	}
	for src, want := range map[string]string{
		`self.n == 4`:               `true`,
		`4 != self.n`:               `false`,
		`self.n > 3`:                `true`,
		`4 <= self.n`:               `true`,
		`self.n < 5u`:               `true`,
		`4 in self.ns`:              `true`,
		`self.n in [1, 4]`:          `true`,
		`self.ns == [4, 3.5]`:       `true`,
		`{4: "a"}[self.n]`:          `"a"`,
		`self.n in {4: "a"}`:        `true`,
		`self.names[self.n]`:        `"e"`,
		`self.names[?self.n]`:       `"e"`,
		`self.n * 2`:                `8`,
		`self.n - 1`:                `3`,
		`-self.n`:                   `-4`,
		`self.n % 3`:                `1`,
		`self.n % 0`:                `error rules.yaml:1:8 modulus by zero`,
		`self.n % self.part`:        `error`,
		`size(self.names) - self.n`: `2`,
		`int(self.n)`:               `4`,
		`uint(self.n)`:              `4`,
		`string(self.n)`:            `"4"`,
		`timestamp(self.n)`:         `"1970-01-01T00:00:04Z"`,
		`"%d %s %x".format([self.n, self.n, self.n])`:      `"4 4 4"`,
		`"%b %f".format([self.n, self.part])`:              `"100 3.500000"`,
		`math.greatest(self.n, 3)`:                         `4`,
		`math.bitAnd(self.n, 5)`:                           `4`,
		`math.sqrt(self.n)`:                                `2`,
		`[self.n, 1].max()`:                                `4`,
		`[self.n, 1].sum()`:                                `5`,
		`self.ns.sum()`:                                    `7.5`,
		`[self.n, 1].sort()`:                               `[1,4]`,
		`self.ns.sort()`:                                   `[3.5,4]`,
		`[self.n, 1].sortBy(e, e)`:                         `[1,4]`,
		`[4, self.n].distinct()`:                           `[4]`,
		`self.ns.indexOf(4)`:                               `0`,
		`lists.range(self.n)`:                              `[0,1,2,3]`,
		`lists.range(self.n * 1000000)`:                    `error rules.yaml:1:12 lists.range() would make more than 500 elements; the maxObjects of a child allows up to 5000`,
		`self.names.slice(1, self.n)`:                      `["b","c","d"]`,
		`lists.setAtIndex(self.names, self.n, "x")[4]`:     `"x"`,
		`"abcdef".substring(self.n)`:                       `"ef"`,
		`"a-b-c".split("-", self.n)`:                       `["a","b","c"]`,
		`random.seededInt(0, self.n, "a")`:                 `2`,
		`size(randomString("a", self.n))`:                  `4`,
		`json.marshal({"n": self.n})`:                      `"{\"n\":4}"`,
		`yaml.marshal({"a": self.n})`:                      `"a: 4\n"`,
		`mergeBy([{"id": 4, "b": "y"}], self.items, "id")`: `[{"a":"x","b":"y","id":4}]`,
	} {
		p := compile(t, src, known)
		integer, double := eval(t, p, of(int64(4))), eval(t, p, of(4.0))
		if want == "error" {
			want = double
		}
		if double != want || strings.HasPrefix(want, "error") != strings.HasPrefix(integer, "error") || !strings.HasPrefix(want, "error") && integer != want {
			t.Errorf("%s\n got %s of the double\n and %s of the integer\nwant %s", src, double, integer, want)
		}
	}
}

// TestWholeNumbersPrintAlike checks that a double prints as the integer that it is, as long as it holds each integer.
func TestWholeNumbersPrintAlike(t *testing.T) {
	p := compile(t, `[string(self.n), "%s".format([self.n]), "%d".format([self.n]), json.marshal(self.n), "x-" + string(self.n)]`, map[string]*Shape{"self": Self("self")})
	for _, n := range []int64{0, 1, -7, 999_999, 1_000_000, 1_500_000, 123_456_789_012, 1e15, 1<<53 - 1, 1 << 53, -(1 << 53)} {
		integer, double := eval(t, p, variables{"self": object{"n": n}}), eval(t, p, variables{"self": object{"n": float64(n)}})
		if integer != double {
			t.Errorf("%d prints as %s, and the double as %s", n, integer, double)
		}
		if whole, ok := Whole(types.Double(n)); !ok || int64(whole) != n {
			t.Errorf("%d is not whole", n)
		}
	}
}
