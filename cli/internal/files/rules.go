package files

import (
	"os"
	"path/filepath"
	"strings"

	"reconcel/rules/source"
)

// Rules reads rules files, each once even if several paths select it.
func (r Reader) Rules(paths []string, recursive bool) (rules []source.File, unread source.Errors) {
	isRules := func(file string) bool { return !IsTest(file) } // Tests are often in the same folder.
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

// IsTest reports whether a file is a test, by its name.
func IsTest(file string) bool {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return name == "tests" || strings.HasSuffix(name, "_test")
}
