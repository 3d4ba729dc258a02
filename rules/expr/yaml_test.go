package expr

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// readYAML evaluates yaml.unmarshal() of a text.
func readYAML(t testing.TB, text string) string {
	t.Helper()
	vars := variables{"self": object{"text": text}}
	got := eval(t, compile(t, `yaml.unmarshal(self.text)`, map[string]*Shape{"self": Self("self")}), vars)
	return strings.TrimPrefix(got, "error rules.yaml:1:15 yaml.unmarshal(): ")
}

func TestUnmarshalYAML(t *testing.T) {
	for text, want := range map[string]string{
		"":                              `null`,
		"# only a comment\n":            `null`,
		"---\na: 1\n":                   `{"a":1}`,
		"a: 1\nb: [x, 2.5, true, ~]":    `{"a":1,"b":["x",2.5,true,null]}`,
		"{\"a\": {\"b\": [1, {}]}}":     `{"a":{"b":[1,{}]}}`,
		"text":                          `"text"`,
		"- |\n  a\n  b\n- >-\n  c\n  d": `["a\nb\n","c d"]`,
		"[0x10, 0o17, 1_000, -3, 1e3, '5', !!str 5, !!int '5']": `[16,15,1000,-3,1000,"5","5",5]`,
		"[yes, no, on, off, True, FALSE]":                       `["yes","no","on","off",true,false]`,
		"[2024-01-02, 2024-01-02T03:04:05Z]":                    `["2024-01-02","2024-01-02T03:04:05Z"]`,
		"[9223372036854775807, 9223372036854775808]":            `[9223372036854775807,9223372036854776000]`,
		"1: a\ntrue: b\n'c': d":                                 `{"1":"a","c":"d","true":"b"}`,
		"a: &x {p: 1}\nb: *x\nc: [*x, *x]":                      `{"a":{"p":1},"b":{"p":1},"c":[{"p":1},{"p":1}]}`,
		"a: &x {p: 1, q: 2}\nb: {<<: *x, p: 3}":                 `{"a":{"p":1,"q":2},"b":{"p":3,"q":2}}`,
		"a: &x {p: 1}\nb: &y {p: 2, q: 3}\nc: {<<: [*x, *y]}":   `{"a":{"p":1},"b":{"p":2,"q":3},"c":{"p":1,"q":3}}`,
		"&k key: 1\nother: *k":                                  `{"key":1,"other":"key"}`,

		"a: [1\nb: 2":            `line 1 of the text is not valid YAML`,
		"a: 1\n b: 2":            `line 2 of the text is not valid YAML`,
		"a: 1\nb: 'x\nc: 3":      `line 2 of the text is not valid YAML`,
		"a: 1\nb: @x":            `line 2 of the text is not valid YAML`,
		"a: 1\n\tb: 2":           `line 2 of the text is not valid YAML`,
		"a: *nowhere":            `line 1 of the text is not valid YAML`,
		"a: 1\nb: 2\na: 3":       `line 3 of the text: a key is given twice`,
		"a: 1\n---\nb: 2":        `the text has 2 documents: split it with split("\n---\n")`,
		"a:\n- &x [1, *x]":       `line 2 of the text: an alias refers to what it is part of`,
		"a: 1\n[b]: 2":           `line 2 of the text: the keys of a map must be text`,
		"a: 1\n~: 2":             `line 2 of the text: the keys of a map must be text`,
		"a: 1\nb: !secret x":     `line 2 of the text: tags have no meaning here`,
		"a: 1\nb: !secret [x]":   `line 2 of the text: tags have no meaning here`,
		"a: !!binary aGk=":       `line 1 of the text: tags have no meaning here`,
		"a: !!int x":             `line 1 of the text: the value does not have the type of its tag`,
		"a: .inf":                `line 1 of the text: infinite numbers and NaN cannot be stored in an object`,
		"a: 1\nb: {<<: 3}":       `line 2 of the text: << needs a map or a list of maps`,
		strings.Repeat("[", 201): `line 1 of the text is not valid YAML`,
		strings.Repeat("[", 202) + strings.Repeat("]", 202): `line 1 of the text: nested too deeply`,
	} {
		if got := readYAML(t, text); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestAliasBombs requires that a short text does not become a large value.
func TestAliasBombs(t *testing.T) {
	bomb := "l0: &l0 [x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i), 10), ","))
	}
	merges := "m0: &m0 {"
	for i := range 200 {
		merges += fmt.Sprintf("k%d: 1, ", i)
	}
	merges += "}\n"
	for i := range 50 {
		merges += fmt.Sprintf("m%d: &m%d {<<: *m%d}\n", i+1, i+1, i)
	}
	deep := "a0: &a0 x\n"
	for i := range 300 {
		deep += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	for text, want := range map[string]string{
		bomb: "more than 100000 values", merges: "<< copies more than 1000 entries", deep: "nested too deeply",
	} {
		if got := readYAML(t, text); !strings.HasSuffix(got, want) {
			t.Errorf("got %.200s\nwant %s", got, want)
		}
	}
}

// FuzzUnmarshalYAML compares the result with what the YAML package reads into Go values,
// and with what yaml.marshal() writes.
func FuzzUnmarshalYAML(f *testing.F) {
	for _, text := range []string{"a: 1", "- x\n- {b: [1, 2.5]}", "a: &x [1]\nb: *x", "{<<: {a: 1}, b: 2}", "00: 0\n0:", "? [a]\n: b", "|\n x", "--- a\n...\n", "\ufeffa: b", "'\\u263a'", "!!str 1", "a: \"x\\ny\"", "a: \"\\Ny\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := unmarshalYAML(types.String(text))
		if len(text) > 2000 || types.IsError(v) {
			return
		}
		written, err := appendLimited(v)
		if err != nil {
			t.Fatalf("%q has no JSON: %v", text, err)
		}
		again := unmarshalYAML(marshalYAML(v))
		if types.IsError(again) {
			t.Fatalf("%q is not read again: %v", text, again)
		}
		if got, err := appendLimited(again); err != nil || string(got) != string(written) {
			t.Errorf("%q\n read as %s\nwritten and read as %s", text, written, got)
		}
		var got, want any
		if yaml.Unmarshal([]byte(text), &want) == nil && utiljson.Unmarshal(written, &got) == nil && !sameStructure(got, want) {
			t.Errorf("%q\n got %v\nwant %v", text, got, want)
		}
	})
}

// sameStructure compares maps, lists and texts. The keys of maps in want need not be texts.
func sameStructure(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		for key, value := range want {
			ok = ok && sameStructure(m[key], value)
		}
		return ok && len(m) == len(want)
	case map[any]any:
		m, ok := got.(map[string]any)
		return ok && len(m) >= len(want) // 00 and 0 are two texts, and one number.
	case []any:
		l, ok := got.([]any)
		ok = ok && len(l) == len(want)
		for i := range want {
			ok = ok && sameStructure(l[i], want[i])
		}
		return ok
	case string:
		return got == want || !utf8.ValidString(want)
	}
	return true
}
