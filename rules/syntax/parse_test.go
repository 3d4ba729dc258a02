package syntax

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/source"
)

var update = flag.Bool("update", false, "rewrite the expected reports in testdata")

// read returns the files of a case: NAME.yaml, NAME.2.yaml and so on.
func read(t testing.TB, path string) []source.File {
	t.Helper()
	var sources []source.File
	for _, p := range []string{path, strings.TrimSuffix(path, ".yaml") + ".2.yaml"} {
		data, err := os.ReadFile(p)
		if errors.Is(err, os.ErrNotExist) && p != path {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, source.File{Name: filepath.Base(p), Data: data})
	}
	return sources
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	var first []string
	for _, p := range paths {
		if !strings.HasSuffix(p, ".2.yaml") {
			first = append(first, p)
		}
	}
	return first
}

func report(t testing.TB, err error) string {
	t.Helper()
	var errs source.Errors
	if err != nil && !errors.As(err, &errs) {
		t.Fatalf("error is a %T, not Errors", err)
	}
	var b bytes.Buffer
	if err := errs.Report(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBad(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			sources := read(t, path)
			_, err := Parse(sources)
			if err == nil {
				t.Fatal("is accepted")
			}
			checkPlaces(t, sources, err)
			got := report(t, err)
			expected := strings.TrimSuffix(path, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(expected, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(expected)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGood(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			sources := read(t, path)
			file, err := Parse(sources)
			if err != nil {
				t.Fatal("\n" + report(t, err))
			}
			n := 0
			for _, e := range expressions(file) {
				n += checkMapping(t, sources, e)
			}
			if n == 0 {
				t.Error("no expressions")
			}
		})
	}
}

// checkPlaces requires every error to have a position inside its file.
func checkPlaces(t *testing.T, sources []source.File, err error) {
	t.Helper()
	var errs source.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("error is a %T, not Errors", err)
	}
	for _, e := range errs {
		if !inside(sources, e.Pos) {
			t.Errorf("%v lies outside of the file", e)
		}
	}
}

func inside(files []source.File, p source.Pos) bool {
	lines := lines(files, p.File)
	return p.Line >= 1 && p.Line <= len(lines) && p.Column >= 1 && p.Column <= utf8.RuneCountInString(lines[p.Line-1])+1
}

// lines returns the lines of a file without line ends.
func lines(files []source.File, name string) []string {
	for _, f := range files {
		if f.Name == name {
			text := strings.TrimPrefix(string(f.Data), "\ufeff")
			return strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r\n", "\n"), "\n")
		}
	}
	return nil
}

// checkMapping requires every character of an expression to be in the file at the
// position from At. It returns the number of literal matches.
func checkMapping(t *testing.T, sources []source.File, e *source.Expr) int {
	t.Helper()
	n, line, column := 0, 1, 0
	for _, r := range e.Text {
		p := e.At(line, column)
		if !inside(sources, p) {
			t.Fatalf("%q: %d:%d is said to stand at %v", e.Text, line, column, p)
		}
		raw := rawAt(sources, p)
		switch {
		case raw == r:
			n++
		case strings.EqualFold(e.Text, "true") && unicode.ToLower(raw) == r: // YAML's True
		case raw == '\\': // an escape
		case r == ' ' && (raw == '\n' || raw == '\t'): // a fold
		case (r == '\n' || r == ' ') && raw == 0: // the end of the file
		default:
			t.Errorf("%q: %d:%d is %q, but %v holds %q", e.Text, line, column, r, p, raw)
		}
		if column++; r == '\n' {
			line, column = line+1, 0
		}
	}
	return n
}

// rawAt returns the character of a file at a position, or 0 after its end.
func rawAt(files []source.File, p source.Pos) rune {
	lines := lines(files, p.File)
	line := []rune(lines[p.Line-1])
	switch {
	case p.Column <= len(line):
		return line[p.Column-1]
	case p.Line < len(lines):
		return '\n'
	}
	return 0
}

func expressions(f *File) []*source.Expr {
	var all []*source.Expr
	add := func(es ...*source.Expr) {
		for _, e := range es {
			if e != nil {
				all = append(all, e)
			}
		}
	}
	var data func(n *source.Node)
	data = func(n *source.Node) {
		if n == nil {
			return
		}
		for _, p := range n.Parts {
			add(p.Expr)
		}
		for _, item := range n.Items {
			data(item)
		}
		for _, field := range n.Fields {
			data(field.Value)
		}
	}
	for _, r := range f.Rules {
		add(r.For.When)
		for _, l := range r.Let {
			add(l.Expr)
			data(l.Data)
		}
		for _, c := range r.Validate {
			add(c.Expression)
			data(c.Message)
		}
		for _, l := range r.Lookups {
			data(l.Namespace)
			data(l.Name)
			data(l.Selector)
		}
		for _, c := range slices.Concat(r.Children, r.Finalize) {
			add(c.When, c.Replicas, c.ReadyWhen, c.FailWhen, c.MaxUnavailable)
			for _, it := range c.ForEach {
				add(it.In)
			}
			data(c.Template)
		}
		data(r.Patch)
		data(r.Status)
		for _, c := range r.Conditions {
			for _, it := range c.ForEach {
				add(it.In)
			}
			data(c.Type)
			add(c.When)
			data(c.Reason)
			data(c.Message)
		}
	}
	return all
}
