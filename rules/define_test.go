package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/rules/source"
	"reconcel/test/race"
	"reconcel/test/soak"
)

// defining loads rules with definitions. Each line of define is one.
func defining(define string, rules ...string) (*Program, error) {
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\ndefine:\n"
	for line := range strings.SplitSeq(strings.Trim(define, "\n"), "\n") {
		text += "  " + line + "\n"
	}
	text += "rules:\n" + strings.Join(rules, "")
	return Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
}

// rendered returns the status of the only rule, and its first error.
func rendered(p *Program, self object) (status, wrong string) {
	var out Rendering
	p.Primaries()[0].Render(Input{Self: self}, &out)
	return string(out.Rules[0].Status), complaint(&out)
}

func TestDefinitionsAreUsedByAllRulesOfTheFile(t *testing.T) {
	self := object{"metadata": object{"name": "p"}, "spec": object{"list": list{"a", "b"}}}
	for _, c := range []struct{ name, define, expression, want string }{
		{"a value", `registry: "'example.com'"`, `registry + '/web'`, `"example.com/web"`},
		{"a number of YAML", `n: 3`, `n + 1`, `4`},
		{"a value of another value", "b: a + a\na: 2", `b`, `4`},
		{"a map", "a: {x: 1, y: '${1 + 1}', z: null, t: 'v${3}'}", `a`, `{"t":"v3","x":1,"y":2}`},
		{"a list", "a: [1, '${[2]}', '${optional.none()}']", `a`, `[1,[2]]`},
		{"a function", `twice(x int): x + x`, `twice(twice(3))`, `12`},
		{"a function with data", `labels(app string): {app: '${app}', full: 'v-${app}', none: '${optional.none()}'}`, `labels(self.metadata.name)`, `{"app":"p","full":"v-p"}`},
		{"nested data", `env(n string): [{name: '${n}', value: {deep: ['${n}', 1]}}]`, `env('A')`, `[{"name":"A","value":{"deep":["A",1]}}]`},
		{"a function of a function and a value", "f(x string): g(x, base)\ng(x string, y string): x + y\nbase: \"'b'\"", `f('a')`, `"ab"`},
		{"a loop in a function", `plus(l list, y string): l.map(x, x + y)`, `plus(self.spec.list, '!')`, `["a!","b!"]`},
		{"variables of loops do not mix", `plus(l list, y string): l.map(x, x + y)`, `self.spec.list.map(x, plus(self.spec.list, x)[0])`, `["aa","ab"]`},
		{"a variable of a loop hides no value of a function", "base: \"'b'\"\nf(x string): x + base", `['a'].map(base, f(base))`, `["ab"]`},
		{"a variable of a loop hides a parameter", `suffixed(x string, l list): l.map(x, x + '-svc')`, `suffixed('a', ['p', 'q'])`, `["p-svc","q-svc"]`},
		{"of a loop in a loop", `f(x string, l list): l.map(y, [x].map(x, x + y))`, `f('a', ['p'])`, `[["ap"]]`},
		{"of cel.bind", `f(x string): cel.bind(x, 'b', x) + x`, `f('a')`, `"ba"`},
		{"of two variables", `f(x string, m map): m.transformList(k, x, k + x)`, `f('a', {'k': 'v'})`, `["kv"]`},
		{"in data", `f(x string, l list): {first: '${x}', all: '${l.map(x, x)}'}`, `f('a', ['p'])`, `{"all":["p"],"first":"a"}`},
		{"an empty list is not changed", `f(l list): (l + [1]) + l`, `f([])`, `[1]`},
		{"an argument that is not used is not computed", `f(c bool, x dyn): "c ? x : 'none'"`, `f(false, self.spec.missing)`, `"none"`},
		{"an object as argument", `f(o map): o.metadata.name`, `f(self)`, `"p"`},
		{"has() of a parameter", `f(o map): has(o.metadata.name) && !has(o.metadata.other)`, `f(self)`, `true`},
		{"lists of several types", `f(x dyn): "[1] + ['a'] + [x]"`, `f(true)`, `[1,"a",true]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := defining(c.define, limited(c.expression))
			if err != nil {
				t.Fatal(err)
			}
			if got, wrong := rendered(p, self); got != `{"x":`+c.want+`}` || wrong != "" {
				t.Errorf("got %s %s, want %s", got, wrong, c.want)
			}
		})
	}
}

func TestMistakesInDefinitions(t *testing.T) {
	for _, c := range []struct{ name, define, expression, want string }{
		{"syntax", `a: 1 +`, `a`, "rules.yaml:4:9: define.a: syntax error"},
		{"self", `a: self.metadata.name`, `a`, "rules.yaml:4:6: define.a: undeclared name 'self' (a definition reads no objects: write a function, such as a(name string))"},
		{"self in a function", `a(n string): self.metadata.name`, `a('')`, "rules.yaml:4:16: define.a: undeclared name 'self' (a definition reads no objects: pass what it needs as an argument)"},
		{"a misspelt name", "registry: \"'x'\"\nimage(n string): registri + n", `image('')`, "rules.yaml:5:20: define.image: undeclared name 'registri' (did you mean 'registry'?)"},
		{"the type of a parameter", `f(n int): n + 'a'`, `f(1)`, "rules.yaml:4:15: define.f: '+' does not take (integer, string)"},
		{"a cycle", "a: b\nb: c + 1\nc: a", `a`, "define.c: a → b → c → a is a cycle"},
		{"a function that calls itself", "f(x int): f(x)", `f(1)`, "rules.yaml:4:13: define.f: f → f is a cycle"},
		{"a second definition", "a: 1\na(x int): x", `a`, `rules.yaml:5:3: define: "a" is already defined, at rules.yaml:4:3`},
		{"a let of the same name", "a: 1", "a", `"a" is already used, at rules.yaml:4:3`},
		{"a name of the language", "size(x list): 1", "1", `define.size: "size" is already a name of the language`},
		{"a type", "f(x text): x", "1", `define: "f(x text)" has a parameter of the unknown type text`},
		{"no parameters", "f(): 1", "1", `define: "f()" has no parameters (write a value, without ())`},
		{"not closed", "'f(x int': 1", "1", `define: "f(x int" is not closed`},
		{"a parameter twice", "f(x int, x int): 1", "1", `has the parameter x twice`},
		{"a wrong argument", `f(n string): n`, `f(1)`, `status.x: f() takes (n string), not (integer) (it is defined at rules.yaml:4:3)`},
		{"a missing argument", `f(n string, m string): n + m`, `f('a')`, `status.x: f() takes (n string, m string), not (string) (it is defined at rules.yaml:4:3)`},
		{"a misspelt function", `labels(n string): n`, `lables('a')`, `undeclared function 'lables' (did you mean 'labels'?)`},
		{"a misspelt value", `registry: "'x'"`, `registri`, `undeclared name 'registri' (did you mean 'registry'?)`},
		{"a call of a function whose parameters cannot be read", "f(n strin): n\ng(n string): f(n)", `f('a') + g('b')`, `rules.yaml:4:3: define: "f(n strin)" has a parameter of the unknown type strin (did you mean 'string'?)`},
		{"a value as a function", `registry: "'x'"`, `registry('a')`, `undeclared function 'registry' (it is a value: write registry, without ())`},
		{"a function as a value", `labels(n string): n`, `labels`, `undeclared name 'labels' (it is a function: write labels(...))`},
		{"the clock", `a: elapsed('2026-01-01T00:00:00Z', '1h')`, `a`, `define.a: a value is computed when the rules load, and cannot read the clock (write a function, or a let)`},
		{"a value that fails", `a: 1 / 0`, `a`, `rules.yaml:4:8: define.a: division by zero`},
		{"a value that fails in a function", "a: f(0)\nf(n int): 1 / n", `a`, `define.a: f() at rules.yaml:5:15: division by zero`},
		{"a part of a value that fails", "a: {b: '${1 / 0}'}", `a`, `rules.yaml:4:15: define.a: division by zero`},
		{"an optional value", `a: optional.of(1)`, `a`, `define.a: must be text, a number`},
		{"children", `a(x list): existing(x)`, `a([])`, `define.a: existing() takes the id of a child with forEach or replicas (a definition reads no children: pass existing(...) as an argument)`},
		{"what the argument does not have", `a(x int): x.foo`, `a(1)`, `a value of type integer has no fields`},
		{"null", `a: `, `a`, `define.a: expected an expression, got nothing`},
		{"a list of definitions", `- a`, `1`, `define: expected a map, got a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule := limited(c.expression)
			if c.name == "a let of the same name" {
				rule = limited(c.expression, "a: 2")
			}
			_, err := defining(c.define, rule)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if n := strings.Count(err.Error(), "rules.yaml:") - strings.Count(c.want, " at rules.yaml:"); n > 1 && !strings.Contains(c.name, "twice") {
				t.Errorf("more than one error: %v", err)
			}
		})
	}
}

// TestErrorsInFunctionsNameTheCallAndTheFunction has an error that a value causes at run time.
func TestErrorsInFunctionsNameTheCallAndTheFunction(t *testing.T) {
	p, err := defining("half(n dyn): 10 / n", limited("half(self.spec.n)"))
	if err != nil {
		t.Fatal(err)
	}
	_, wrong := rendered(p, object{"spec": object{"n": int64(0)}})
	if want := `rule "r": status.x: half() at rules.yaml:4:19: division by zero`; !strings.Contains(wrong, want) {
		t.Errorf("got %s\nwant %s", wrong, want)
	}
}

// TestDefinitionsGiveWhatTheirTextGives renders random expressions with calls of functions,
// and the same expressions with the text of the functions in place of the calls.
func TestDefinitionsGiveWhatTheirTextGives(t *testing.T) {
	race.Skip(t)
	functions := []struct{ define, text string }{
		{"f0(a dyn, b dyn): '[a, b].map(x, [x, a])'", "[A, B].map(q0, [q0, A])"},
		{"f1(a dyn, b dyn): '{\"k\": a, \"l\": b}'", `{"k": A, "l": B}`},
		{"f2(a dyn, b dyn): 'has(a.k) ? a.k : b'", "has((A).k) ? (A).k : B"},
		{"f3(a dyn, b dyn): 'a.?m.orValue(b)'", "(A).?m.orValue(B)"},
		{"f4(a dyn, b dyn): '[a].filter(x, x != b).size() > 0 ? f1(a, b) : f1(b, a)'", `[A].filter(q4, q4 != (B)).size() > 0 ? {"k": A, "l": B} : {"k": B, "l": A}`},
		{"f5(a dyn, b dyn): {k: '${a}', m: '${b}'}", `{"k": A, "m": B}`},
		{"f6(a dyn, b dyn): 'cel.bind(x, f1(a, v), [x, b, v])'", `cel.bind(q6, {"k": A, "l": {"m": "v"}}, [q6, B, {"m": "v"}])`},
	}
	var define []string
	for _, f := range functions {
		define = append(define, f.define)
	}
	define = append(define, `v: '{"m": "v"}'`)
	leaves := []string{"self.spec", "self.status", "self.spec.m", "self.status.m", "self.status.absent.more", "self.metadata.name", `{"m": 1}`, "self.spec.missing", "settings", "settings.data.k", "[]", "y"}
	var draw func(r *rand.Rand, depth int) (call, text string)
	draw = func(r *rand.Rand, depth int) (call, text string) {
		if depth == 0 || r.IntN(4) == 0 {
			leaf := leaves[r.IntN(len(leaves))]
			return leaf, leaf
		}
		n := r.IntN(len(functions))
		a, aText := draw(r, depth-1)
		b, bText := draw(r, depth-1)
		text = strings.NewReplacer("A", "dyn("+aText+")", "B", "dyn("+bText+")").Replace(functions[n].text)
		return fmt.Sprintf("f%d(%s, %s)", n, a, b), "(" + text + ")"
	}
	rule := func(expression string) string {
		return "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  let: {y: self.status.m}\n" +
			"  lookups: [{id: settings, apiVersion: v1, kind: ConfigMap, name: settings}]\n" +
			"  status: {x: " + quoteJSON("${"+expression+"}") + "}\n"
	}
	compared, waits, reads := 0, 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		call, text := draw(r, 3)
		if len(text) > 4000 {
			continue
		}
		called, err := defining(strings.Join(define, "\n"), rule(call))
		written, err2 := defining(strings.Join(define, "\n"), rule(text))
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%s: %v\n%s: %v", call, err, text, err2)
		}
		if err != nil {
			continue
		}
		in := Input{Self: object{"metadata": object{"name": "p"}, "spec": object{"m": "sm", "k": list{}}, "status": object{"m": "tm"}}}
		if r.IntN(2) == 0 {
			in.Self["status"] = object{}
		}
		in.Lookup = func(*Lookup, Query) ([]map[string]any, error) {
			if r.IntN(2) == 0 {
				return nil, nil
			}
			return []map[string]any{{"metadata": object{"name": "settings"}, "data": object{"k": "dk"}}}, nil
		}
		answer, _ := in.Lookup(nil, Query{})
		in.Lookup = func(*Lookup, Query) ([]map[string]any, error) { return answer, nil }
		var a, b Rendering
		called.Primaries()[0].Render(in, &a)
		written.Primaries()[0].Render(in, &b)
		x, y := &a.Rules[0], &b.Rules[0]
		if string(x.Status) != string(y.Status) || (x.StatusErr == nil) != (y.StatusErr == nil) {
			t.Fatalf("%s\n%s\ngives %s %v\n%s\ngives %s %v", strings.Join(define, "\n"), call, x.Status, x.StatusErr, text, y.Status, y.StatusErr)
		}
		if len(x.Status) > 2 {
			compared++
		}
		if x.StatusErr == nil && len(x.Status) <= 2 {
			waits++
		}
		gvk := called.Primaries()[0].GVK
		if got, want := called.Reads().Primary(gvk), written.Reads().Primary(gvk); !got.Covers(want) || !want.Covers(got) {
			t.Fatalf("%s\n%s\nread something else of the primary", call, text)
		}
		// What the projection keeps is enough.
		full := string(x.Status)
		in.Self = called.Reads().Primary(gvk).OfMap(in.Self)
		called.Primaries()[0].Render(in, &a)
		if got := string(a.Rules[0].Status); got != full {
			t.Fatalf("%s\ngives %s, and %s with what it reads of the primary", call, full, got)
		}
		reads++
	}
	if compared < 60 || waits < 20 || reads < 200 {
		t.Errorf("%d values, %d that wait and %d readings were compared", compared, waits, reads)
	}
}

// TestAttacksByDefinitions loads and renders rules whose definitions double with each level. make test
// tries a sample, make soak-attacks all.
func TestAttacksByDefinitions(t *testing.T) {
	race.Skip(t)
	tower := func(n int, first, next string) string {
		lines := []string{"f0(x dyn): " + quoteJSON(first)}
		for i := range n {
			lines = append(lines, fmt.Sprintf("f%d(x dyn): %s", i+1, quoteJSON(strings.ReplaceAll(next, "f(", fmt.Sprintf("f%d(", i)))))
		}
		return strings.Join(lines, "\n")
	}
	values := func(n int, first, next string) string {
		lines := []string{"v0: " + quoteJSON(first)}
		for i := range n {
			lines = append(lines, fmt.Sprintf("v%d: %s", i+1, quoteJSON(strings.ReplaceAll(next, "v", fmt.Sprintf("v%d", i)))))
		}
		return strings.Join(lines, "\n")
	}
	for i, c := range []struct{ name, define, rule, want string }{
		{"two calls each", tower(400, "[x]", "[f(x), f(x)]"), limited("f400(self)"), "makes the expression too large: it stands for more than 4096 values and operations"},
		{"a parameter twice each", tower(400, "[x, x]", "[f(f(x))]"), limited("f400(self)"), "makes the expression too large"},
		{"calls in calls", "f(x dyn): '[x, x]'", limited(strings.Repeat("f(", 200) + "self" + strings.Repeat(")", 200)), "makes the expression too large"},
		{"one call each", tower(490, "[x]", "[f(x)]"), limited("f490(self).size()"), "nest too deeply here: more than 64 operations within each other"},
		{"many deep calls", tower(30, "[[[[[[[[[[[[x]]]]]]]]]]]]", "[f(x)]"), manyCalls(5000, "f30(self)"), "the calls of their functions stand for too much text"},
		{"many large calls", tower(9, "[x]", "[f(x), f(x)]"), manyCalls(5000, "f9(self)"), "the calls of their functions stand for too much text"},
		{"values that double", values(400, "'a'", "v + v"), limited("v400"), "'+' would make more than 256 KiB of text"},
		{"lists that double", values(400, "[1]", "[v, v]"), limited("v400"), "the value is too large"},
		{"maps that double", values(400, "{'a': 1}", "{'a': v, 'b': v}"), limited("v400"), "the value is too large"},
		{"loops in a value", "a: lists.range(500).map(x, lists.range(500).map(y, lists.range(500).map(z, z))).size()", limited("a"), "cost more than their budget"},
		{"loops in many values", values(499, "0", "v + lists.range(500).map(x, lists.range(50).map(y, y)).size()"), limited("v0"), "more than their budget"},
		{"work in many values", values(499, "0", "v + (lists.range(480) == lists.range(480) ? 1 : 0)"), limited("v0"), ""},
		{"loops at run time", "f(l list): l.all(a, l.all(b, l.all(c, l.all(d, a == d))))", limited("f(self.spec.list)"), overBudget},
		{"text at run time", "f(x dyn): x + x", limited("f(f(f(self.spec.text)))"), "'+' would make more than 256 KiB of text"},
		{"text in data", "f(x dyn): ['${x}${x}${x}']", limited("f(self.spec.text)"), "larger than 256 KiB"},
		{"many large values", copies(400, "1", 60), limited("w400"), "define.w59: the values of define have too much to process, and are too large in all files together"},
		{"many values of many maps", copies(400, "{}", 50), limited("w400"), "too large in all files together"},
		{"values that read all before them", all(250), limited("v249"), ""},
		{"calls of a function that uses all", all(250) + "\nf(x dyn): v249", manyCalls(2000, "[f(1), f(2), f(3), f(4)].size()"), ""},
		{"many calls that are too large", "f(x dyn): '[x, x]'", manyCalls(800, strings.Repeat("f(", 100)+"self"+strings.Repeat(")", 100)), "the definitions and the calls of their functions stand for too much text in all files together"},
		{"many calls that nest too deeply", tower(60, "[x]", "[f(x)]"), manyCalls(5000, "f59([[[[[[self]]]]]]).size()"), "nest too deeply"},
		{"every definition names all others", every(300), limited("v1"), "define.v1: v0 → v1 → v0 is a cycle"},
		{"a long cycle in data", cycleInData(490, 2000), limited("d0"), "define.d490: d0 → d1 → d2 → d3 → d4 → d5 → d6 → d7 → d8 → d9 → … → d482 → d483 → d484 → d485 → d486 → d487 → d488 → d489 → d490 → d0 is a cycle"},
		{"deep data", deepData(400, 30), limited("d0.size()"), "stand for too much text"},
		{"deeper data", deepData(400, 45), limited("d0.size()"), "define.d0: nests too deeply: more than 64 operations within each other"},
		{"deep data with calls", "f(x dyn): '[x, x, x, x]'\n" + deepCalls(300, 30), limited("d0.size()"), "stand for too much text"},
		{"many definitions", strings.Repeat("a: 1\n", 1) + manyDefinitions(600), limited("a"), "more than 500 definitions"},
	} {
		if soak.Skips(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var got string
			cpu, memory := measure(10*mostCPU, func() {
				p, err := defining(c.define, c.rule)
				if err != nil {
					got = err.Error()
					return
				}
				var out Rendering
				p.Primaries()[0].Render(Input{Self: hostile()}, &out)
				got = complaint(&out)
			})
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %.500s\nwant %s", got, c.want)
			}
			if cpu > 10*mostCPU || memory > 10*mostMemory {
				t.Errorf("took %v and %d MiB", cpu, memory>>20)
			}
			t.Logf("%v, %d MiB: %.200s", cpu.Round(time.Millisecond), memory>>20, got)
		})
	}
}

// TestMaxObjectsRaisesNoLimitOfDefinitions has a function in a rule with the highest limit on
// objects, in a rule with the lowest, and in a value.
func TestMaxObjectsRaisesNoLimitOfDefinitions(t *testing.T) {
	const loops = "f(n int): lists.range(n).map(a, lists.range(n).map(b, lists.range(n).map(c, c))).size()"
	for _, c := range []struct{ define, rule, want string }{
		{loops, largeRule + "  status: {x: '${f(400)}'}\n  children:\n" + largeOf("a", "    forEach: {n: '[1]'}\n"+objectNamed("a-${n}", "x")), overLargeBudget},
		{loops, largeRule + "  status: {x: '${f(2000)}'}\n  children:\n" + largeOf("a", "    forEach: {n: '[1]'}\n"+objectNamed("a-${n}", "x")), overLargeBudget},
		{loops, limited("f(400)"), overBudget},
		{loops, limited("f(2000)"), "lists.range() would make more than 500 elements"},
		{loops + "\nv: f(400)", limited("v"), overBudget},
		{loops + "\nv: f(2000)", largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(v)}\n"+objectNamed("a-${n}", "x")), "lists.range() would make more than 500 elements"},
	} {
		p, err := defining(c.define, c.rule)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			_, got = rendered(p, hostile())
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s\n%s\ngot %.300s\nwant %s", c.define, c.rule, got, c.want)
		}
	}
}

// copies makes values that each have n² copies of the first.
func copies(definitions int, first string, n int) string {
	lines := []string{"a: " + quoteJSON("["+strings.Repeat(first+", ", n)+first+"]")}
	for i := range definitions + 1 {
		lines = append(lines, fmt.Sprintf("w%d: '[%sa]'", i, strings.Repeat("a, ", n)))
	}
	return strings.Join(lines, "\n")
}

// all makes values that read all those before them.
func all(n int) string {
	var lines, names []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("v%d: '[%s].size()'", i, strings.Join(names, ",")))
		names = append(names, fmt.Sprintf("v%d", i))
	}
	return strings.Join(lines, "\n")
}

// every makes definitions that name all others.
func every(n int) string {
	var lines, names []string
	for i := range n {
		names = append(names, fmt.Sprintf("v%d", i))
	}
	for i := range n {
		others := slices.Concat(names[:i], names[i+1:])
		lines = append(lines, fmt.Sprintf("v%d: '[%s]'", i, strings.Join(others, ",")))
	}
	return strings.Join(lines, "\n")
}

// cycleInData makes a long path of definitions whose last one closes many cycles.
func cycleInData(path, cycles int) string {
	var out strings.Builder
	for i := range path {
		fmt.Fprintf(&out, "d%d: d%d\n", i, i+1)
	}
	fmt.Fprintf(&out, "d%d: [%s'']", path, strings.Repeat("'${d0}', ", cycles))
	return out.String()
}

// deepData makes definitions that are maps within maps.
func deepData(n, depth int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "d%d: %s'${1}'%s\n", i, strings.Repeat("{a: ", depth), strings.Repeat("}", depth))
	}
	return out.String()
}

// deepCalls makes definitions that are lists within lists, with calls of a function.
func deepCalls(n, depth int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "d%d: %s1%s\n", i, strings.Repeat("['${f(1)}', ", depth), strings.Repeat("]", depth))
	}
	return out.String()
}

// manyCalls makes a rule with many expressions.
func manyCalls(n int, call string) string {
	var out strings.Builder
	out.WriteString("- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  status:\n")
	for i := range n {
		fmt.Fprintf(&out, "    x%d: ${%s}\n", i, call)
	}
	return out.String()
}

func manyDefinitions(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "n%d: %d\n", i, i)
	}
	return out.String()
}

// TestParametersOfAnyType has functions whose text suits only one type of argument on each side of a condition.
func TestParametersOfAnyType(t *testing.T) {
	for _, c := range []struct{ define, call, want string }{
		{"at(o dyn, key dyn): 'type(o) == list ? o[int(key)] : o[key]'", `at({"k": "v"}, "k")`, ""},
		{"at(o dyn, key dyn): 'type(o) == list ? o[int(key)] : o[key]'", `at(["v"], 0)`, ""},
		{"items(o dyn): 'has(o.items) ? o.items : []'", `items(self.spec)`, ""},
		{"n(x dyn): 'int(x)'", `n("x")`, `rules.yaml:9:12: rule "r": status.x: n() at rules.yaml:4:17: int() failed: it does not take this value`},
		{"n(x dyn): x", `true ? 1 : int("x")`, `rules.yaml:9:25: rule "r": status.x: int() failed: it does not take this value`},
	} {
		_, err := defining(c.define, limited(c.call))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.call, got, c.want)
		}
	}
}
