package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/cli/internal/files"
)

// TestOrigin compares the origins of rules from different command lines.
func TestOrigin(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")
	for _, file := range []string{a, b} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	same := func(x, y []string) bool { return origin(x) == origin(y) }
	switch {
	case !same([]string{"a.yaml", "./b.yaml"}, []string{b, a, a}):
		t.Error("the same files in another order and writing are not the same")
	case same([]string{a}, []string{b}), same([]string{a}, []string{a, b}):
		t.Error("other files are the same")
	case same([]string{files.Stdin}, []string{files.Stdin}):
		t.Error("what comes from stdin twice is the same")
	case origin([]string{a}) != hostname()+":"+a:
		t.Error(origin([]string{a}))
	}
	many := make([]string, 0, 300)
	for i := range 300 {
		many = append(many, filepath.Join(folder, strings.Repeat("x", i%100)+".yaml"))
	}
	if text := origin(many); len(text) > len(hostname())+len(folder)+60 {
		t.Errorf("%d bytes for many files: %s", len(text), text)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	if text := origin([]string{a}); text != a {
		t.Errorf("in a Pod: %s", text)
	}
}
