package files

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"reconcel/internal/disk"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

var ruleFiles = filter{yamlExtensions, func(file string) bool { return !IsTest(file) },
	sourceLimit} // Tests are often in the same folder.

// Rules reads rules files, as Select does.
func (r Reader) Rules(paths []string) (rules []source.File, unread source.Errors) {
	rules, _, unread = r.Select(paths)
	return rules, unread
}

// Select reads rules files, each once even if several paths select it. In folders, it
// passes over files that are not meant to have rules or that rules read, and returns their names.
func (r Reader) Select(paths []string) (rules []source.File, passed []string, unread source.Errors) {
	seen := map[string]bool{}
	again := func(file string) bool {
		before := seen[file]
		seen[file] = true
		return before
	}
	for _, path := range paths {
		found, failed := r.readAll([]string{path}, ruleFiles, again)
		unread = append(unread, failed...)
		before := len(rules)
		for _, file := range found {
			if file.Name == path || IsStdin(file) || syntax.Meant(file) && !isRead(file, found) {
				rules = append(rules, file)
			} else {
				passed = append(passed, file.Name)
			}
		}
		if len(found) > 0 && len(rules) == before {
			unread = append(unread, unreadable(path, errors.New("no file with rules in this folder")))
		}
	}
	return rules, passed, unread
}

// Laid reads the files that fmt lays out: rules and tests, each once.
func (r Reader) Laid(paths []string) (all []source.File, unread source.Errors) {
	found, unread := r.YAML(paths)
	for _, file := range found {
		if slices.Contains(paths, file.Name) || IsStdin(file) || IsTest(file.Name) || syntax.Meant(file) {
			all = append(all, file)
		}
	}
	return all, unread
}

// YAML reads files of YAML, each once even if several paths select it.
func (r Reader) YAML(paths []string) (all []source.File, unread source.Errors) {
	seen := map[string]bool{}
	return r.readAll(paths, filter{yamlExtensions, everyFile, sourceLimit}, func(file string) bool {
		again := seen[file]
		seen[file] = true
		return again
	})
}

// definition matches a document of a CRD.
var definition = regexp.MustCompile(`(?m)^["']?kind["']?:[ \t]*["']?CustomResourceDefinition\b`)

// Definitions returns the files with CRDs in those of the paths that are folders.
func (r Reader) Definitions(paths []string) (found []string) {
	if r.Texts != nil {
		return nil
	}
	for _, folder := range folders(paths) {
		all, _ := r.find(folder, objectFiles)
		for _, file := range all {
			text, err := r.read(file, objectLimit)
			if err == nil && definition.Match(text.Data) {
				found = append(found, file)
			}
		}
	}
	return found
}

// folders returns the paths that are folders.
func folders(paths []string) (found []string) {
	for _, path := range paths {
		if info, err := disk.Stat(path); path != Stdin && err == nil && info.IsDir() {
			found = append(found, path)
		}
	}
	return found
}

// Reloadable returns the paths, or nil if one of them can be read only once:
// standard input or a pipe would then be empty, or block.
func Reloadable(paths []string) []string {
	for _, path := range paths {
		info, err := disk.Stat(path)
		if path == Stdin || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil
		}
	}
	return paths
}

var testFiles = filter{yamlExtensions, IsTest, sourceLimit}

// Tests returns the path itself, or the test files in a folder.
func (r Reader) Tests(path string) ([]string, error) { return r.find(path, testFiles) }

// IsTest reports whether a file is a test, by its name.
func IsTest(file string) bool {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return name == "tests" || strings.HasSuffix(name, "_test")
}
