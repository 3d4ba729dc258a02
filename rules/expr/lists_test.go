package expr

import "testing"

func TestSumsOfDifferentLists(t *testing.T) {
	for src, want := range map[string]string{
		`[1] + ["a"]`:                                        `[1,"a"]`,
		`[{"a": 1}] + [{"b": "x"}]`:                          `[{"a":1},{"b":"x"}]`,
		`[1] + ["a"] + [true]`:                               `[1,"a",true]`,
		`self.spec.workers + [1]`:                            `[{"name":"a","size":1},{"name":"b"},1]`,
		`([1] + ["a"]).map(x, [x] + [[x]])`:                  `[[1,[1]],["a",["a"]]]`,
		`size([deployment.metadata.name] + [1] + ["b"]) > 2`: `true`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	if got := issuesOf(t, `[1] + "a"`); got != `'+' does not take (list of integer, string)` {
		t.Error(got)
	}
	if got := issuesOf(t, `([1] + ["a"]) + 1 + nope`); got == "" {
		t.Error("no issue")
	}
}
