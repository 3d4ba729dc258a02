// Package files reads the input of commands: files, folders and standard input.
package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/rules/source"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// A Reader reads files, folders and standard input.
type Reader struct {
	Stdin     io.Reader
	Recursive bool // include subfolders
}

// A filter selects files in folders.
type filter struct {
	extensions []string
	accepts    func(file string) bool
}

var yamlExtensions = []string{".yaml", ".yml"}

// find returns the path itself, or the files in a folder by name. It skips hidden
// files, and the hidden folders that Kubernetes keeps in a mounted ConfigMap.
func (r Reader) find(path string, f filter) ([]string, error) {
	if path == Stdin {
		return []string{Stdin}, nil
	}
	at, err := os.Stat(path)
	if err != nil {
		return nil, exit.Cause(err)
	}
	if !at.IsDir() {
		return []string{path}, nil
	}
	var found []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == path:
			return nil
		case entry.IsDir() && (!r.Recursive || isHidden(entry)):
			return fs.SkipDir
		case isFile(entry) && !isHidden(entry) && slices.Contains(f.extensions, filepath.Ext(file)) && f.accepts(file):
			found = append(found, file)
		}
		return nil
	})
	if err != nil {
		return nil, exit.Cause(err)
	}
	if len(found) == 0 {
		return nil, NoFileError{f.extensions}
	}
	return found, nil
}

// readAll reads the files that the paths select, except those to skip.
func (r Reader) readAll(paths []string, f filter, skip func(file string) bool) (all []source.File, unread []*source.Error) {
	for _, path := range paths {
		found, err := r.find(path, f)
		if err != nil {
			unread = append(unread, unreadable(path, err))
		}
		for _, file := range found {
			if skip(file) {
				continue
			}
			text, err := r.Read(file)
			if err != nil {
				unread = append(unread, unreadable(text.Name, err))
				continue
			}
			all = append(all, text)
		}
	}
	return all, unread
}

func unreadable(name string, err error) *source.Error {
	return source.NewError(source.Pos{File: name}, "", "cannot be read: "+err.Error(), "")
}

// A NoFileError says that a folder has no matching file.
type NoFileError struct{ extensions []string }

func (e NoFileError) Error() string {
	return "no " + strings.Join(e.extensions, " or ") + " file in this folder"
}

// isFile reports whether an entry of a folder is a file or a link, which may lead
// to a file. Reading a pipe could block forever.
func isFile(entry fs.DirEntry) bool {
	return entry.Type().IsRegular() || entry.Type()&fs.ModeSymlink != 0
}

func isHidden(entry fs.DirEntry) bool { return strings.HasPrefix(entry.Name(), ".") }

// Read returns the content of a file, with a name for messages.
func (r Reader) Read(path string) (source.File, error) {
	if path == Stdin {
		data, err := io.ReadAll(r.Stdin)
		return source.File{Name: "<stdin>", Data: data}, err
	}
	data, err := readFile(path)
	return source.File{Name: path, Data: data}, exit.Cause(err)
}

// maxFile is larger than any file that a user means to read.
const maxFile = 64 << 20

// readFile is os.ReadFile with a limit, for files without an end such as devices.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("more than %d MiB", maxFile>>20)
	}
	return data, err
}
