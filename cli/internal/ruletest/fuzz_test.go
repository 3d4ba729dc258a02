package ruletest_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules"
	"reconcel/rules/source"
)

// FuzzPrepare expects a test file to parse, or to give errors that all have a position in
// it.
func FuzzPrepare(f *testing.F) {
	for _, pattern := range []string{examples + "*/tests.yaml", "testdata/bad/*.yaml", "testdata/failing/*.yaml"} {
		for _, path := range files(f, pattern) {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data))
		}
	}
	s := setting(f)
	s.Load = func([]string) (*rules.Program, error) { return s.Program, nil } // The test does not cover file access.
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ruletest.Parse(source.File{Name: "tests.yaml", Data: []byte(text)})
		if err == nil {
			_, err = file.Prepare(s)
		}
		var complaints source.Errors
		if err != nil && !errors.As(err, &complaints) {
			t.Fatalf("no complaints: %v", err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, c := range complaints {
			if c.Pos.Line < 1 || c.Pos.Line > lines || c.Pos.Column < 1 {
				t.Errorf("%v: there is no such place", c)
			}
		}
	})
}
