package files

import (
	"os"
	"path/filepath"
	"strings"

	"reconcel/rules/source"
)

// Rules reads rules files, each once however often it is named.
func (r Reader) Rules(paths []string, recursive bool) (rules []source.File, unread source.Errors) {
	isRules := func(file string) bool { return !IsTest(file) } // People keep tests beside what they test.
	where := Search{Extensions: []string{".yaml", ".yml"}, Recursive: recursive, Only: isRules}
	complain := func(name string, err error) {
		unread = append(unread, source.NewError(source.Pos{File: name}, "", "cannot be read: "+err.Error(), ""))
	}
	seen := map[string]bool{}
	for _, path := range paths {
		files, err := where.Find(path)
		if err != nil {
			complain(path, err)
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			name, data, err := r.Read(file)
			if err != nil {
				complain(name, err)
				continue
			}
			rules = append(rules, source.File{Name: name, Data: data})
		}
	}
	return rules, unread
}

// Reloadable returns paths, or none if some can be read only once: reading
// standard input or a pipe again would find nothing, or wait.
func Reloadable(paths []string) []string {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == Stdin || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil
		}
	}
	return paths
}

// IsTest tells test files from others by their names.
func IsTest(file string) bool {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return name == "tests" || strings.HasSuffix(name, "_test")
}
