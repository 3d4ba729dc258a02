package syntax

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzParse requires that nothing panics, that every complaint lies inside its
// file, that every character of an expression is found in the file, and that
// every scalar decodes to what the YAML package says it is.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		for _, path := range files(f, pattern) {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 10_000 {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sources := []Source{{Name: "fuzz.yaml", Data: data}}
		file, err := Parse(sources)
		if err != nil {
			checkPlaces(t, sources, err)
			var errs Errors
			errors.As(err, &errs)
			if err := errs.Report(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range expressions(file) {
			checkMapping(t, sources, e)
		}
		checkScalars(t, sources[0])
	})
}

// checkScalars requires that trace decodes every scalar as YAML does.
func checkScalars(t *testing.T, source Source) {
	t.Helper()
	text := newText(source)
	if text.check() != nil {
		return
	}
	docs, _ := text.load()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && n.Value != "" && n.Style&yaml.TaggedStyle == 0 {
			c := text.cursor(text.pos(n))
			if c.skipAnchor(); c.peek() != '!' {
				tr := trace{cursor: c, want: len([]rune(n.Value))}
				if tr.decode(n); tr.text.String() != n.Value {
					t.Errorf("%v: value %q is decoded as %q", text.pos(n), n.Value, tr.text.String())
				}
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	for _, doc := range docs {
		walk(doc)
	}
}

func TestScalars(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.yaml") {
		for _, source := range read(t, path) {
			checkScalars(t, source)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	sources := read(b, "testdata/good/design.yaml")
	sources[0].Data = []byte(strings.ReplaceAll(string(sources[0].Data), "\t", "  "))
	b.SetBytes(int64(len(sources[0].Data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(sources); err != nil {
			b.Fatal(err)
		}
	}
}
