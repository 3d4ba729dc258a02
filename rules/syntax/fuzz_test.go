package syntax

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"reconcel/rules/source"
)

// FuzzParse requires that nothing panics, that every error has a position inside its
// file, and that every character of an expression maps to the file.
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
		sources := []source.File{{Name: "fuzz.yaml", Data: data}}
		file, err := Parse(sources)
		if err != nil {
			checkPlaces(t, sources, err)
			var errs source.Errors
			errors.As(err, &errs)
			if err := errs.Report(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range expressions(file) {
			checkMapping(t, sources, e)
		}
	})
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
