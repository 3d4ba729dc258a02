package cli

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reconcel/cli/internal/exit"
)

// TestExamplesPass runs the tests of all examples. Each example has some, and they cover
// every expression.
func TestExamplesPass(t *testing.T) {
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	if code := a.main([]string{"test", "-R", "--coverage", "../examples"}); code != exit.Yes {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	rules, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range rules {
		if tests := filepath.Join(filepath.Dir(path), "tests.yaml"); !strings.Contains(stdout.String(), "ok    "+tests+"  ") {
			t.Errorf("%s has no tests", path)
		}
	}
	if m := regexp.MustCompile(`coverage: ([0-9]+) of ([0-9]+)`).FindStringSubmatch(stdout.String()); m == nil || m[1] != m[2] {
		t.Errorf("some expressions never run:\n%s", &stdout)
	}
}

func TestExamplesAreFormatted(t *testing.T) {
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	if code := a.main([]string{"fmt", "-R", "-f", "../examples", "--check"}); code != exit.Yes {
		t.Errorf("exit code %d: reconcel fmt -R -f examples formats these\n%s%s", code, &stdout, &stderr)
	}
}
