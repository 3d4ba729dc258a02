package expr

import "testing"

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
