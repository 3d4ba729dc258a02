package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureIsComplete requires docs/contributing/architecture.md to name every package of the
// module, and every path in it and in the code index to exist.
func TestArchitectureIsComplete(t *testing.T) {
	pages := map[string]string{}
	for _, name := range []string{"docs/contributing/architecture.md", "docs/contributing/code-index.md"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(data)
	}
	for _, folder := range packages(t) {
		if !strings.Contains(pages["docs/contributing/architecture.md"], "`"+folder+"`") {
			t.Errorf("docs/contributing/architecture.md does not name the package %s", folder)
		}
	}
	for name, page := range pages {
		paths := regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]+)+/?)`").FindAllStringSubmatch(page, -1)
		for _, m := range paths {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
		if len(paths) < 40 {
			t.Errorf("%s: only %d paths were found", name, len(paths))
		}
	}
}

// packages returns the folders of the module with Go files.
func packages(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"bin", "testdata", ".git"}, d.Name()) || path != root && isModule(path)):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go":
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err == nil && folder != "." && !slices.Contains(all, filepath.ToSlash(folder)) {
				all = append(all, filepath.ToSlash(folder))
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// isModule reports whether a folder is a Go module of its own.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}
