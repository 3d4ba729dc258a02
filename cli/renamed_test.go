package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRenamedNamesAreGone searches the repository for names that CHANGELOG says
// have been renamed: metrics, alerts, reasons and messages of the log. Names of
// a single word are skipped, since they occur in prose.
func TestRenamedNamesAreGone(t *testing.T) {
	old := renamed(t)
	if len(old) < 30 {
		t.Fatalf("CHANGELOG lists only %d renamed names: %q", len(old), old)
	}
	text := regexp.MustCompile(`\.(go|md|ya?ml|sh|txt|txtar)$`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin"):
			return filepath.SkipDir
		case !text.MatchString(path) || entry.Name() == "CHANGELOG.md":
			return nil
		}
		data, err := os.ReadFile(path)
		for _, name := range old {
			if bytes.Contains(data, []byte(name)) && regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).Match(data) {
				t.Errorf("%s: the old name %q", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// renamed returns the old names of CHANGELOG's table that prose cannot contain.
func renamed(t *testing.T) (names []string) {
	t.Helper()
	data, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (metric|reason|alert|log message) \| ([^|]*) \|`)
	name := regexp.MustCompile("`([^`…]+)[^`]*`")
	distinct := regexp.MustCompile(`_|[a-z][A-Z]|\w \w+ \w`)
	for _, r := range row.FindAllStringSubmatch(string(data), -1) {
		for _, n := range name.FindAllStringSubmatch(r[2], -1) {
			if text := strings.TrimRight(n[1], " ,;"); distinct.MatchString(text) {
				names = append(names, text)
			}
		}
	}
	return names
}
