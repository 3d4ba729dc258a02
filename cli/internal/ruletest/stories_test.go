package ruletest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules/source"
)

// TestStories runs the tests of each story. They cover every expression of its rules.
func TestStories(t *testing.T) {
	for _, path := range files(t, stories+"*/tests.yaml") {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			rules := filepath.Join(filepath.Dir(path), "rules.yaml")
			s := settingOf(t, rules, contents(t, rules))
			file, err := ruletest.Parse(source.File{Name: path, Data: []byte(contents(t, path))})
			if err != nil {
				t.Fatal(err)
			}
			suite, err := file.Prepare(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := report(t, s, suite, ruletest.Options{}); strings.Contains(got, "FAIL") {
				t.Error(got)
			}
			for _, e := range s.Program.Expressions() {
				if !s.Coverage.Ran(e) {
					t.Errorf("%s: %s never ran", e.Pos, e.Text)
				}
			}
		})
	}
}

// TestPageOfAutoscaling compares the rule on the page with the tested one.
func TestPageOfAutoscaling(t *testing.T) {
	if !strings.Contains(contents(t, "../../../docs/how-to/autoscaling.md"), "```yaml\n"+contents(t, stories+"autoscaler/rules.yaml")+"```\n") {
		t.Error("the page has another rule than testdata/stories/autoscaler")
	}
}
