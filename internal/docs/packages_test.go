package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureIsComplete requires docs/architecture.md to name every package of the
// tree, and every path in it to exist.
func TestArchitectureIsComplete(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, folder := range packages(t) {
		if !strings.Contains(page, "`"+folder+"`") {
			t.Errorf("docs/architecture.md does not name the package %s", folder)
		}
	}
	paths := 0
	for _, m := range regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]+)+/?)`").FindAllStringSubmatch(page, -1) {
		paths++
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("docs/architecture.md names %s, which does not exist", m[1])
		}
	}
	_, steps, _ := strings.Cut(page, "flowchart LR\n")
	steps, _, _ = strings.Cut(steps, "```")
	for _, file := range regexp.MustCompile(`\w+\.go`).FindAllString(steps, -1) {
		paths++
		if _, err := os.Stat(filepath.Join(root, "engine", file)); err != nil {
			t.Errorf("docs/architecture.md names the step %s, which does not exist", file)
		}
	}
	if paths < 40 {
		t.Errorf("only %d paths were found", paths)
	}
}

// TestPictureIsTrue requires each arrow of the first picture to be an import.
func TestPictureIsTrue(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(data), "```mermaid\n")
	picture, _, _ = strings.Cut(picture, "```")
	folders := map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+)\["([^"]+)"\]`).FindAllStringSubmatch(picture, -1) {
		folders[m[1]] = strings.TrimSuffix(m[2], "main.go")
	}
	arrows := regexp.MustCompile(`(\w+)(?:\["[^"]+"\])? --> (\w+)`).FindAllStringSubmatch(picture, -1)
	for _, m := range arrows {
		from, to := m[1], m[2]
		if folder, ok := folders[from]; ok {
			from = folder
		}
		if folder, ok := folders[to]; ok {
			to = folder
		}
		if !slices.Contains(imports(t, from), "reconcel/"+to) {
			t.Errorf("the picture of docs/architecture.md has an arrow from %s to %s, which is not imported", from, to)
		}
	}
	if len(arrows) < 15 {
		t.Errorf("only %d arrows were found", len(arrows))
	}
}

// imports returns what the package in a folder imports.
func imports(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			all = append(all, strings.Trim(i.Path.Value, `"`))
		}
	}
	return all
}

// packages returns the folders of the tree with Go files.
func packages(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"bin", "testdata", ".git", "devcluster"}, d.Name()) && filepath.Base(filepath.Dir(path)) != "internal":
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
