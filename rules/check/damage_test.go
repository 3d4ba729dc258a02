package check

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"reconcel/rules/source"
	"reconcel/test/race"
)

// TestDamaged checks the parts of rules that do not load. Whatever is missing, the check
// ends, and its findings have positions.
func TestDamaged(t *testing.T) {
	race.Skip(t)
	set := crds(t)
	try := func(src source.File) {
		f := found(t, set, src)
		for _, e := range slices.Concat(f.Errors, f.Warnings) {
			if e.Pos.Line < 1 {
				t.Errorf("%s: %v has no place", src.Name, e)
			}
		}
	}
	files, err := filepath.Glob("../*/testdata/bad/*.yaml")
	if err != nil || len(files) < 100 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) < 20_000 { // Larger files are about limits of the parser.
			try(source.File{Name: filepath.Base(file), Data: data})
		}
	}
	for _, src := range examples(t) {
		lines := bytes.SplitAfter(src.Data, []byte("\n"))
		for i := range lines {
			try(source.File{Name: src.Name, Data: bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)})
		}
	}
}
