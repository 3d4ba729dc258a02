package expr

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/interpreter"

	"reconcel/test/cputime"
)

// TestBlowUps runs expressions that would take gigabytes or minutes without limits.
func TestBlowUps(t *testing.T) {
	vars := world()
	vars["self"] = object{"spec": object{
		"text": strings.Repeat("a", 100_000), "n": int64(100_000_000),
		"list": make(list, 400), "numbers": func() (l list) {
			for i := range int64(300_000) {
				l = append(l, i)
			}
			return l
		}(), "texts": func() (l list) {
			for range 1000 {
				l = append(l, strings.Repeat("b", 1000))
			}
			return l
		}(),
	}}
	const cost = "the loops of the rule cost more than their budget of 400000 units: loop over less, or compute what repeats once, in let"
	for src, want := range map[string]string{
		`self.spec.text.replace("a", self.spec.text)`:                       "replace() would make more than 256 KiB of text",
		`self.spec.text.replace("", self.spec.text)`:                        "replace() would make more than 256 KiB of text",
		`self.spec.texts.join(self.spec.text)`:                              "join() would make more than 256 KiB of text",
		`self.spec.texts.join()`:                                            "join() would make more than 256 KiB of text",
		`"%s".format([self.spec.texts])`:                                    "format() would make more than 256 KiB of text",
		`"%s%s%s".format([self.spec.text, self.spec.text, self.spec.text])`: "format() would make more than 256 KiB of text",
		`("%.1000000000" + "f").format([1.0])`:                              "format() failed: it does not take this value",
		`lists.range(self.spec.n)`:                                          "lists.range() would make more than 500 elements; the maxObjects of a child allows up to 5000",
		`json.marshal(self.spec.texts)`:                                     "json.marshal(): the result is larger than 256 KiB",
		`self.spec.list.all(a, self.spec.list.all(b, self.spec.list.all(c, self.spec.list.all(d, a == b))))`:                               cost,
		`lists.range(500).map(a, lists.range(500).map(b, lists.range(500).map(c, a+b+c))).size()`:                                          cost,
		`lists.range(500).map(a, self.spec.text + self.spec.text).size()`:                                                                  cost,
		`self.spec.text + self.spec.text + self.spec.text`:                                                                                 "'+' would make more than 256 KiB of text",
		`cel.bind(a, self.spec.list + self.spec.list, cel.bind(b, a+a+a+a, cel.bind(c, b+b+b+b, cel.bind(d, c+c+c+c, (d+d+d+d).size()))))`: "'+' would make a list of more than 100000 elements",
		`self.spec.numbers.exists(n, n < 0)`:                                                                                               "a loop runs over at most 10000 elements",
		`self.spec.numbers.distinct().size()`:                                                                                              "distinct() has too much to process: the expressions of a rule may process 2000000 values, reduce its input",
		`sets.contains(self.spec.numbers, self.spec.numbers)`:                                                                              "sets.contains() has too much to process: the expressions of a rule may process 2000000 values, reduce its input",
		`self.spec.numbers in lists.range(9).map(i, self.spec.numbers)`:                                                                    "'in' has too much to process: the expressions of a rule may process 2000000 values, reduce its input",
		`cel.bind(a, [self.spec.list, self.spec.list], cel.bind(b, [a,a,a,a,a,a,a,a], cel.bind(c, [b,b,b,b,b,b,b,b], cel.bind(d, [c,c,c,c,c,c,c,c], cel.bind(e, [d,d,d,d,d,d,d,d], e == [d,d,d,d,d,d,d,d])))))`: "'==' has too much to process: the expressions of a rule may process 2000000 values, reduce its input",
		`cel.bind(a, [self.spec.list, self.spec.list], cel.bind(b, [a,a,a,a,a,a,a,a], cel.bind(c, [b,b,b,b,b,b,b,b], cel.bind(d, [c,c,c,c,c,c,c,c], [d,d,d,d,d,d,d,d].flatten(9).size()))))`:                    "flatten() has too much to process: the expressions of a rule may process 2000000 values, reduce its input",
		`lists.range(500).map(a, self.spec.text.matches("(a|b)*c" + string(a))).size()`:                                                                                                                         "matches() has too much to process: the expressions of a rule may process 2000000 values, reduce its input",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cputime.Used()
		got := eval(t, compile(t, src, shapes()), vars)
		runtime.ReadMemStats(&after)
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s\n got %.200s\nwant %s", src, got, want)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 300<<20 {
			t.Errorf("%s: allocated %d MiB", src, grown>>20)
		}
		if took := cputime.Used() - start; took > time.Minute {
			t.Errorf("%s: took %v", src, took)
		}
		t.Logf("%v %d MiB %s", (cputime.Used() - start).Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, src)
	}
}

// TestLargeTextsWithinTheLimits has calls on large texts whose result is small enough, and that take little time.
func TestLargeTextsWithinTheLimits(t *testing.T) {
	vars := variables{"self": object{"spec": object{
		"text": strings.Repeat("a", 100_000), "long": strings.Repeat("a", 120_000) + "b", "part": strings.Repeat("a", 60_000) + "b",
		"first": "b" + strings.Repeat("a", 60_000),
	}}}
	for src, want := range map[string]string{
		`"%s".format([self.spec.text]).size()`:                                  `100000`,
		`"%s-%% %.1f %s".format([self.spec.text, 1.5, self.spec.text]).size()`:  `200007`,
		`"%x".format([self.spec.text])`:                                         `error rules.yaml:1:12 format() would make more than 256 KiB of text`,
		`self.spec.text.replace("a", "bcdefghijk", 2).size()`:                   `100018`,
		`self.spec.text.replace("a", "bcdefghijk", 0).size()`:                   `100000`,
		`self.spec.text.replace("a", "bcdefghijk", -1).size()`:                  `error rules.yaml:1:23 replace() would make more than 256 KiB of text`,
		`self.spec.long.indexOf(self.spec.part)`:                                `60000`,
		`self.spec.text.indexOf(self.spec.part)`:                                `-1`,
		`self.spec.text.lastIndexOf(self.spec.first)`:                           `-1`,
		`lists.range(20).map(i, self.spec.text.indexOf(self.spec.part)).size()`: `20`,
	} {
		start := cputime.Used()
		if got := eval(t, compile(t, src, shapes()), vars); got != want {
			t.Errorf("%s\n got %.200s\nwant %s", src, got, want)
		}
		if took := cputime.Used() - start; took > 10*time.Second {
			t.Errorf("%s: took %v", src, took)
		}
	}
}

// TestIndexesOfTexts compares the search of texts with positions that are found by eye.
func TestIndexesOfTexts(t *testing.T) {
	vars := variables{"self": object{"s": "äbcäbc€"}}
	for src, want := range map[string]string{
		`self.s.indexOf("bc")`: `1`, `self.s.indexOf("bc", 1)`: `1`, `self.s.indexOf("bc", 2)`: `4`, `self.s.indexOf("bc", 5)`: `-1`,
		`self.s.indexOf("€", 6)`: `6`, `self.s.indexOf("€", 7)`: `-1`, `self.s.indexOf("", 3)`: `3`, `self.s.indexOf("", 9)`: `7`,
		`self.s.indexOf("x")`: `-1`, `self.s.indexOf("bc", 99)`: `-1`, `self.s.indexOf("äbcäbc€")`: `0`, `self.s.indexOf("äbcäbc€ä")`: `-1`,
		`self.s.lastIndexOf("bc")`: `4`, `self.s.lastIndexOf("bc", 4)`: `4`, `self.s.lastIndexOf("bc", 3)`: `1`, `self.s.lastIndexOf("bc", 0)`: `-1`,
		`self.s.lastIndexOf("ä", 0)`: `0`, `self.s.lastIndexOf("€")`: `6`, `self.s.lastIndexOf("€", 6)`: `6`, `self.s.lastIndexOf("€", 7)`: `-1`,
		`self.s.lastIndexOf("")`: `7`, `self.s.lastIndexOf("bc", 6)`: `4`, `[1, 2, 1].lastIndexOf(1)`: `2`, `[1, 2].indexOf(2)`: `1`,
		`self.s.indexOf("bc", -1)`: `error rules.yaml:1:15 indexOf() failed: it does not take this value`,
	} {
		if got := eval(t, compile(t, src, map[string]*Shape{"self": Self("self")}), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestBudgetIsShared(t *testing.T) {
	p := compile(t, `self.spec.list.map(a, self.spec.list.map(b, 1)).size()`, shapes())
	vars := variables{"self": object{"spec": object{"list": make(list, 300)}}}
	frame, err := interpreter.NewExecutionFrame(&worked{variables: vars})
	if err != nil {
		t.Fatal(err)
	}
	defer frame.Close()
	runs := 0
	for ; runs < 100; runs++ {
		if _, err := p.Eval(frame); err != nil {
			break
		}
	}
	if runs == 0 || runs > 20 {
		t.Errorf("stopped after %d runs", runs)
	}
}

func TestDeadline(t *testing.T) {
	p := compile(t, `self.spec.list.map(a, self.spec.list.map(b, 1)).size()`, shapes())
	frame, err := interpreter.NewExecutionFrame(variables{"self": object{"spec": object{"list": make(list, 300)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer frame.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := frame.SetContext(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if got := show(p.Eval(frame)); got != "error rules.yaml:1:1 the loops of the rule ran out of time: loop over less, or compute what repeats once, in let" {
		t.Error(got)
	}
}
