package syntax

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/source"
	"reconcel/test/cputime"
)

const head = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: v1, kind: Pod}
`

func parse(t *testing.T, body string) *Rule {
	t.Helper()
	file, err := Parse([]source.File{{Name: "rules.yaml", Data: []byte(head + body)}})
	if err != nil {
		t.Fatal("\n" + report(t, err))
	}
	return file.Rules[0]
}

// show prints a node in YAML flow style, with expressions in «».
func show(n *source.Node) string {
	switch n.Kind {
	case source.List:
		var items []string
		for _, item := range n.Items {
			items = append(items, show(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case source.Map:
		var fields []string
		for _, f := range n.Fields {
			fields = append(fields, f.Key.Value+": "+show(f.Value))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case source.Interp:
		var s strings.Builder
		for _, p := range n.Parts {
			if p.Expr != nil {
				s.WriteString("«" + p.Expr.Text + "»")
			} else {
				s.WriteString(p.Text)
			}
		}
		return s.String()
	case source.Null:
		return "null"
	case source.Bool, source.Int, source.Float, source.Text:
	}
	return fmt.Sprintf("%T(%v)", n.Value, n.Value)
}

func TestData(t *testing.T) {
	for text, want := range map[string]string{
		`2020-01-01`:                      "string(2020-01-01)",
		`2020-01-01T10:00:00Z`:            "string(2020-01-01T10:00:00Z)",
		`12:30:45`:                        "string(12:30:45)",
		`yes`:                             "string(yes)",
		`off`:                             "string(off)",
		`True`:                            "bool(true)",
		`FALSE`:                           "bool(false)",
		`"true"`:                          "string(true)",
		`0644`:                            "int64(420)",
		`0o644`:                           "int64(420)",
		`0x1F`:                            "int64(31)",
		`1_000`:                           "int64(1000)",
		`-9223372036854775808`:            "int64(-9223372036854775808)",
		`1.50`:                            "float64(1.5)",
		`1e3`:                             "float64(1000)",
		`~`:                               "null",
		`null`:                            "null",
		``:                                "null",
		`""`:                              "string()",
		`"a $${b} $$c $"`:                 "string(a ${b} $$c $)",
		`$$${a}`:                          "string($${a})",
		`${a}`:                            "«a»",
		`"${ a }"`:                        "«a»",
		`"a${b}c${d}"`:                    "a«b»c«d»",
		`"${a}${b}"`:                      "«a»«b»",
		`"${a} "`:                         "«a» ",
		`'${ {"a": {"b": "}"}}["a"] } }'`: `«{"a": {"b": "}"}}["a"]» }`,
		`'${ r"\" + "\"}" + b''}'' }'`:    `«r"\" + "\"}" + b'}'»`,
		`'${ """ "} """ }'`:               `«""" "} """»`,
		`[a, {b: c}]`:                     "[string(a), {b: string(c)}]",
		`{1: a, true: b, 2020-01-01: c}`:  "{1: string(a), true: string(b), 2020-01-01: string(c)}",
		`{<<: {a: 1, b: 2}, b: 3}`:        "{b: int64(3), a: int64(1)}",
	} {
		rule := parse(t, "  status:\n    x: "+text+"\n")
		if diff := cmp.Diff(want, show(rule.Status.Fields[0].Value)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestLetTellsExpressionsFromData(t *testing.T) {
	rule := parse(t, "  let: {a: self.x, b: 1, c: TRUE, d: [x], e: {}, f: ' self.y '}\n")
	var got []string
	for _, l := range rule.Let {
		if l.Expr != nil {
			got = append(got, l.Name.Value+"="+l.Expr.Text)
		} else {
			got = append(got, l.Name.Value+":"+show(l.Data))
		}
	}
	want := []string{"a=self.x", "b=1", "c=true", "d:[string(x)]", "e:{}", "f=self.y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKeepsWhatIsGood(t *testing.T) {
	file, err := Parse([]source.File{
		{Name: "a.yaml", Data: []byte(head + "  let: {good: self.x, bad: '${self.x}'}\n  nope: 1\n")},
		{Name: "b.yaml", Data: []byte("a: b: c\n")},
		{Name: "c.yaml", Data: []byte(strings.Replace(head, "foo", "bar", 1))},
	})
	var errs source.Errors
	if !errors.As(err, &errs) || len(errs) != 3 {
		t.Fatalf("error is %v", err)
	}
	if len(file.Rules) != 2 || len(file.Rules[0].Let) != 2 || file.Rules[1].Name.Value != "bar" {
		t.Errorf("file is %+v", file)
	}
}

func TestCollect(t *testing.T) {
	sources := []source.File{{Name: "b.yaml", Data: []byte("one\ntwo\n")}, {Name: "a.yaml", Data: []byte("eins\r\nzwei")}}
	at := func(file string, line, column int) *source.Error {
		return source.NewError(source.Pos{File: file, Line: line, Column: column}, "r", "m", "")
	}
	errs := source.Collect(sources, []*source.Error{at("a.yaml", 2, 1), at("b.yaml", 2, 3), at("b.yaml", 2, 1), at("a.yaml", 1, 2), at("a.yaml", 2, 1)})
	var got []string
	for _, e := range errs {
		got = append(got, e.Error()+" | "+e.Excerpt)
	}
	want := []string{
		`b.yaml:2:1: rule "r": m | two`, `b.yaml:2:3: rule "r": m | two`,
		`a.yaml:1:2: rule "r": m | eins`, `a.yaml:2:1: rule "r": m | zwei`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if source.Collect(sources, nil).Err() != nil {
		t.Error("no complaint is an error")
	}
}

func TestAtBehindTheEnd(t *testing.T) {
	rule := parse(t, "  let:\n    a: |\n      self.x &&\n      self.y ==\n")
	e := rule.Let[0].Expr
	for _, c := range []struct {
		line, column int
		want         string
	}{
		{1, 0, "rules.yaml:8:7"}, {1, 9, "rules.yaml:8:16"}, {2, 0, "rules.yaml:9:7"}, {2, 9, "rules.yaml:9:16"}, {2, 99, "rules.yaml:9:16"},
	} {
		if got := e.At(c.line, c.column).String(); got != c.want {
			t.Errorf("At(%d, %d) is %s, want %s", c.line, c.column, got, c.want)
		}
	}
}

func TestRefusesTooLargeFiles(t *testing.T) {
	_, err := Parse([]source.File{{Name: "rules.yaml", Data: []byte(head + strings.Repeat("# x\n", (1<<20)/4))}})
	want := "rules.yaml:1:1: file has more than 1048576 bytes (split it)"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// TestLargeFiles guards against work that is quadratic in the size of a file.
func TestLargeFiles(t *testing.T) {
	for name, data := range map[string]string{
		"one line":      head + "  status: {é: [" + strings.Repeat("a,", 60_000) + "]}\n",
		"interpolated":  head + "  status: {é: [" + strings.Repeat(`"${a}",`, 30_000) + "]}\n",
		"complaints":    head + "  status: {é: [" + strings.Repeat(".nan,", 40_000) + "]}\n",
		"not YAML":      head + strings.Repeat("  # x\n", 30_000) + " x\n",
		"open quote":    head + "  let: {a: \"" + strings.Repeat("x\n    ", 30_000),
		"one string":    head + "  status: {a: \"" + strings.Repeat("${a} ", 60_000) + "\"}\n",
		"long path":     head + "  children: [{id: a, ignoreFields: [a" + strings.Repeat(".b", 300_000) + "], template: {a: {}}}]\n",
		"many paths":    head + "  children: [{id: a, ignoreFields: [" + strings.Repeat("a.b, ", 60_000) + "], template: {a: {b: 1}}}]\n",
		"many indexed":  head + "  children: [{id: a, ignoreFields: ['a[\"" + strings.Repeat("b.c[\"x\"],", 60_000) + "]}]\n",
		"many unclosed": head + "  status: {a: [" + strings.Repeat(`"${a",`, 30_000) + "]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := cputime.Used()
			_, err := Parse([]source.File{{Name: "x.yaml", Data: []byte(data)}})
			_ = report(t, err)
			if took := cputime.Used() - start; took > 10*time.Second {
				t.Errorf("takes %v", took)
			} else {
				t.Log(took)
			}
		})
	}
}

// TestTellsLostNames keeps the names of fields that could not be parsed, so that no
// further error calls them undeclared.
func TestTellsLostNames(t *testing.T) {
	const end = "template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]\n"
	for body, want := range map[string]string{
		"  lookup: [{id: a}]\n":                                                                      "a",
		"  lookups: {a: {kind: Pod}}\n":                                                              "a",
		"  lookups: [{id: a, apiVersion: v1, kind: Pod}]\n":                                          "a",
		"  lookups: [{id: a, apiVersion: v1, kind: Pod, name: ''}]\n":                                "a",
		"  lookups: [{id: a, apiVersion: v1, kind: Pod, name: x, selector: {}}]":                     "a",
		"  lookups: [a]\n":                                                                           "?",
		"  lookups: [{apiVersion: v1, kind: Pod, name: x}]\n":                                        "?",
		"  lookups: a\n":                                                                             "",
		"  finalise: [{id: a}]\n":                                                                    "a",
		"  finalize: {a: {}}\n":                                                                      "a",
		"  finalize: [{}]\n":                                                                         "?",
		"  requeueAfter: 10\n":                                                                       "",
		"  allow: {zzz: [{id}]}\n":                                                                   "",
		"  children: [{id: a, foreach: [{name: b, in: self.x}], " + end:                              "b in name self.x",
		"  children: [{id: a, forEach: {name: b, in: self.x}, " + end:                                "b in name self.x",
		"  children: [{id: a, forEach: [{nam: b, in: self.x}], " + end:                               "b ?",
		"  children: [{id: a, forEach: [{name: b, idx: c, in: self.x}], " + end:                      "c",
		"  children: [{id: a, forEach: [{name: a, index: c, in: self.x}], " + end:                    "a c",
		"  children: [{id: a, forEach: [{name: b, index: b, in: self.x}], " + end:                    "b b",
		"  children: [{id: a, forEach: [{name: b-c, in: self.x}], " + end:                            "b b-c c",
		"  children: [{id: a, forEach: [b], " + end:                                                  "?",
		"  children: [{id: a, forEach: {b-c: self.x}, " + end:                                        "b b-c c",
		"  children: [{id: a, forEach: {a: self.x}, " + end:                                          "a",
		"  children: [{id: a, forEach: {}, " + end:                                                   "",
		"  children: [{id: a, forEach: [], " + end:                                                   "",
		"  conditions: [{forEach: {b-c: self.x}, type: a, when: true}]\n":                            "b b-c c",
		"  conditions: [{foreach: {b: self.x}, type: a, when: true}]\n":                              "b self.x",
		"  conditions: [a]\n":                                                                        "?",
		"  children: [{id: a, forEach: [{name: b, in: self.x}], timeout: [{name: b, in: c}], " + end: "b c in name",
	} {
		file, err := Parse([]source.File{{Name: "rules.yaml", Data: []byte(head + body)}})
		if err == nil {
			t.Errorf("%s: is accepted", body)
			continue
		}
		rule := file.Rules[0]
		got := slices.DeleteFunc(slices.Sorted(slices.Values(rule.Lost)), func(name string) bool { return name == "" })
		if rule.Nameless {
			got = append(got, "?")
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}
