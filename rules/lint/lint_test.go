package lint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A mistake is a change of a sound rule, and what a check says about it.
type mistake struct {
	name     string
	from, to string // the first occurrence is replaced
	want     string // part of the only finding; "": there is none
}

// finds makes each mistake in a sound rule. The finding must have the name of the check
// and be on the line of the mistake.
func finds(t *testing.T, check, sound string, mistakes []mistake) {
	t.Helper()
	if found := lint(t, "rules.yaml", sound); len(found) > 0 {
		t.Fatalf("the sound rule: %v", source.Errors(found))
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			if !strings.Contains(sound, m.from) {
				t.Fatalf("the rule has no %q", m.from)
			}
			text := strings.Replace(sound, m.from, m.to, 1)
			found := lint(t, "rules.yaml", text)
			if m.want == "" {
				if len(found) > 0 {
					t.Errorf("found %v", source.Errors(found))
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("want one finding with %q, got %v", m.want, source.Errors(found))
			}
			e := found[0]
			if e.Check != check || !strings.Contains(e.Error(), m.want) {
				t.Errorf("want %s and %q, got %v", check, m.want, e)
			}
			first := strings.Count(text[:strings.Index(sound, m.from)], "\n") + 1
			if last := first + strings.Count(m.to, "\n"); e.Pos.Line < first || e.Pos.Line > last {
				t.Errorf("want a line from %d to %d, got %v", first, last, e)
			}
		})
	}
}

// lint loads rules, without errors, and returns what the checks find.
func lint(t *testing.T, name, text string) source.Errors {
	t.Helper()
	files := []source.File{{Name: name, Data: []byte(text)}}
	var complaints source.Errors
	if _, err := rules.Load(files); errors.As(err, &complaints) {
		t.Fatalf("%v\n%s", err, text)
	}
	file, err := syntax.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return source.Collect(files, Lint(file, schema.Builtin(), complaints))
}

// inRule returns a rule for a custom resource with this indented body.
func inRule(body string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: web\n  for: {apiVersion: example.com/v1, kind: Web}\n" + body
}

// TestSoundRules finds nothing in the examples and in the rules of tests that load.
func TestSoundRules(t *testing.T) {
	for _, pattern := range []string{"../../examples/*/rules.yaml", "../check/testdata/good*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := lint(t, file, string(data)); len(found) > 0 {
				t.Error(found)
			}
		}
	}
}

// TestDamagedRules checks the parts of rules that do not load.
func TestDamagedRules(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/rules.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		for i := range lines {
			text := strings.Join(slices.Concat(lines[:i], lines[i+1:]), "")
			file, err := syntax.Parse([]source.File{{Name: name, Data: []byte(text)}})
			var complaints source.Errors
			_ = errors.As(err, &complaints)
			for _, e := range Lint(file, schema.Builtin(), complaints) {
				if e.Pos.Line < 1 {
					t.Errorf("%v has no position", e)
				}
			}
		}
	}
}

func TestSilence(t *testing.T) {
	at := func(line int) *source.Error {
		e := source.NewError(source.Pos{File: "a", Line: line, Column: 3}, "", "wrong", "")
		e.Check = SelectorLabels
		return e
	}
	for _, c := range []struct {
		text   string
		covers []int // of the lines 1 to 3
	}{
		{"x\ny # reconcel:ignore selector-labels\nz", []int{2}},
		{"x\n  # reconcel:ignore selector-labels # the webhook adds it\nz", []int{2, 3}},
		{"x\r\n#reconcel:ignore selector-no-pod, selector-labels\r\nz", []int{2, 3}},
		{"x\ny # reconcel:ignore selector-no-pod\nz", nil},
		{"x\ny#reconcel:ignore selector-labels\nz", nil},
	} {
		s := NewSilence([]source.File{{Name: "a", Data: []byte(c.text)}}, nil)
		var covers []int
		for line := 1; line <= 3; line++ {
			if s.Covers(at(line)) {
				covers = append(covers, line)
			}
		}
		if !slices.Equal(covers, c.covers) || len(s.Unknown) > 0 {
			t.Errorf("%q covers %v, want %v; unknown: %v", c.text, covers, c.covers, s.Unknown)
		}
	}
	if s := NewSilence(nil, []string{SelectorLabels}); !s.Covers(at(1)) {
		t.Error("a check that is turned off still counts")
	}
	if s := NewSilence(nil, []string{"selector"}); len(s.Unknown) != 1 || !strings.HasPrefix(s.Unknown[0].Error(), "--ignore-check: there is no check") {
		t.Error(s.Unknown)
	}
	s := NewSilence([]source.File{{Name: "a", Data: []byte("x: 1 # reconcel:ignore selector-label")}}, nil)
	if len(s.Unknown) != 1 || s.Unknown[0].Pos.Column != 24 || !strings.Contains(s.Unknown[0].Error(), "did you mean 'selector-labels'?") {
		t.Error(s.Unknown)
	}
}
