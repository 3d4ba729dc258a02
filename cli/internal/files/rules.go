package files

import (
	"os"
	"path/filepath"
	"strings"

	"reconcel/rules/source"
)

var ruleFiles = filter{yamlExtensions, func(file string) bool { return !isTest(file) }} // Tests are often in the same folder.

// Rules reads rules files, each once even if several paths select it.
func (r Reader) Rules(paths []string) (rules []source.File, unread source.Errors) {
	seen := map[string]bool{}
	return r.readAll(paths, ruleFiles, func(file string) bool {
		again := seen[file]
		seen[file] = true
		return again
	})
}

// Reloadable returns the paths, or nil if one of them can be read only once:
// standard input or a pipe would then be empty, or block.
func Reloadable(paths []string) []string {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == Stdin || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil
		}
	}
	return paths
}

var testFiles = filter{yamlExtensions, isTest}

// Tests returns the path itself, or the test files in a folder.
func (r Reader) Tests(path string) ([]string, error) { return r.find(path, testFiles) }

// isTest reports whether a file is a test, by its name.
func isTest(file string) bool {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return name == "tests" || strings.HasSuffix(name, "_test")
}
