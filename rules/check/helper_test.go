package check

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// crds returns the schemas of the examples' kinds.
func crds(t testing.TB) *schema.Set { return load(t, "../../crds/*.yaml") }

// load returns the schemas of the CRDs in these files.
func load(t testing.TB, pattern string) *schema.Set {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var from schema.Sources
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			var crd map[string]any
			if err := yaml.Unmarshal([]byte(doc), &crd); err != nil {
				t.Fatal(file, err)
			}
			from.CRDs = append(from.CRDs, crd)
		}
	}
	set, err := schema.New(from)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func examples(t testing.TB) []source.File {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/rules.yaml")
	if err != nil || len(files) < 13 {
		t.Fatal(files, err)
	}
	var out []source.File
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, source.File{Name: filepath.Base(filepath.Dir(file)) + ".yaml", Data: data})
	}
	return out
}

// found loads rules and checks them. Errors of loading are among the errors.
func found(t testing.TB, set *schema.Set, src source.File) Found {
	t.Helper()
	sources := []source.File{src}
	var complaints source.Errors
	if _, err := rules.Load(sources); err != nil && !errors.As(err, &complaints) {
		t.Fatal(err)
	}
	file, _ := syntax.Parse(sources) // Load reports the same errors, and more.
	f := Check(file, set, complaints)
	f.Errors = append(slices.Clone(complaints), f.Errors...)
	return f
}

// report prints the findings as a command does.
func report(t testing.TB, f Found, src source.File) string {
	t.Helper()
	var b strings.Builder
	for _, list := range []struct {
		title    string
		all      []*source.Error
		severity source.Severity
	}{{"errors", f.Errors, source.SeverityError}, {"warnings", f.Warnings, source.SeverityWarning}, {"notes", f.Notes, source.SeverityNote}} {
		if len(list.all) == 0 {
			continue
		}
		b.WriteString("# " + list.title + "\n")
		if err := source.Collect([]source.File{src}, list.all).WithSeverity(list.severity).Report(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
