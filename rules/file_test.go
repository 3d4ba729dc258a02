package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/source"
)

const readingRules = `
- name: board
  for: {apiVersion: example.com/v1, kind: Foo}
  children:
  - id: board
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: board}
      data: {board.json: "${file('boards/a.json')}", size: "${string(size(file(\"boards/a.json\")))}"}
- name: other
  for: {apiVersion: example.com/v1, kind: Foo}
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
`

// withText returns rules that read a text.
func withText(text string) []source.File {
	sources := rulesFile(readingRules)
	sources[0].Beside = []source.TextFile{{Path: "boards/a.json", Text: text}}
	return sources
}

func TestFile(t *testing.T) {
	before := Compile(withText("{\"a\": \"${x}\"}\n"))
	if err := before.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	r := render(before.Program, foo(), nil)
	want := `"data":{"board.json":"{\"a\": \"${x}\"}\n","size":"14"}`
	if got := body(t, first(&r.Rules[0].Children[0])); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	large := strings.Repeat("x", 256<<10)
	for _, changed := range [][]source.File{withText("other"), withText(""), withText(large)} {
		now, again := Compile(changed), before.Recompile(changed)
		if diff := cmp.Diff(described(now), described(again)); diff != "" {
			t.Errorf("-compiled +recompiled:\n%s", diff)
		}
		for i, same := range []bool{false, true} {
			was, is := before.Program.Primaries()[0].Rules[i], again.Program.Primaries()[0].Rules[i]
			if (was.Digest == is.Digest) != same {
				t.Errorf("%s is the same rule: %v, want %v", was.Name, !same, same)
			}
		}
	}
	if r := render(Compile(withText(large)).Program, foo(), nil); !strings.Contains(body(t, first(&r.Rules[0].Children[0])), large) {
		t.Error("a large file is not in the object")
	}
	gone := withText("")
	gone[0].Beside[0].Wrong = "there is no such file"
	if again := before.Recompile(gone); again.Program != nil {
		t.Error("a file that is gone is read")
	}
}

// TestFileInDefinition reads files in values and functions that rules share.
func TestFileInDefinition(t *testing.T) {
	digests := map[source.Digest]bool{}
	for _, text := range []string{"a", "b"} {
		p, err := Load([]source.File{{Name: "rules.yaml", Beside: []source.TextFile{{Path: "a.txt", Text: text}}, Data: []byte(
			`apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  letter: file("a.txt")
  marked(with string): with + file('a.txt')
rules:
- name: a
  for: {apiVersion: example.com/v1, kind: Foo}
  status: {letter: "${letter}", marked: "${marked('-')}"}
`)}})
		if err != nil {
			t.Fatal(err)
		}
		r := render(p, foo(), nil)
		if got, want := string(r.Rules[0].Status), `{"letter":"`+text+`","marked":"-`+text+`"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		digests[p.Primaries()[0].Rules[0].Digest] = true
	}
	if len(digests) != 2 {
		t.Error("another file is the same rule")
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{`file("gone.json")`, `status.x: file("gone.json"): there is no such file`},
		{`file("unknown.json")`, `file("unknown.json"): there are no files beside these rules (put the text into a ConfigMap, and read it with a lookup)`},
		{`file(self.metadata.name)`, "file() takes a path in quotes, without escapes: files are read when the rules load"},
		{`file("gone\x2ejson")`, "file() takes a path in quotes, without escapes: files are read when the rules load"},
		{`file(1)`, "file() takes a path in quotes"},
		{`file()`, "file()"},
	} {
		sources := []source.File{{Name: "rules.yaml", Beside: []source.TextFile{{Path: "gone.json", Wrong: "there is no such file"}},
			Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: a\n  for: {apiVersion: example.com/v1, kind: Foo}\n" +
				"  status:\n    # A comment.\n    x: ${" + c.expression + "}\n")}}
		_, err := Load(sources)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.expression, err, c.want)
		}
	}
}
