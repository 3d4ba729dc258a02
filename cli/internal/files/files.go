// Package files reads the input of commands: files, folders and standard input.
package files

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/internal/disk"
	"reconcel/rules/source"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName is the name of standard input in messages.
const stdinName = "<stdin>"

// IsStdin reports whether a file is standard input.
func IsStdin(file source.File) bool { return file.Name == stdinName }

// A Reader reads files, folders and standard input.
type Reader struct {
	Stdin     io.Reader
	Recursive bool // include subfolders

	// Texts, if not nil, are the only files that exist, by name. There are no folders.
	Texts map[string]string

	// Written is a file that the command writes, or "". It is not read from folders.
	Written string

	// Seen, if not nil, is called before a file or folder is read.
	Seen func(path string)
}

func (r Reader) see(path string) {
	if r.Seen != nil {
		r.Seen(path)
	}
}

// A filter selects files in folders.
type filter struct {
	extensions []string
	accepts    func(file string) bool
	limit      int // maximum number of bytes to read from a file
}

var yamlExtensions = []string{".yaml", ".yml"}

// find returns the path itself, or the files in a folder by name. It skips hidden
// files, and the hidden folders that Kubernetes keeps in a mounted ConfigMap.
func (r Reader) find(path string, f filter) ([]string, error) {
	if path == Stdin {
		return []string{Stdin}, nil
	}
	r.see(path)
	if r.Texts != nil {
		return []string{path}, nil
	}
	at, err := disk.Stat(path)
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
		case entry.IsDir():
			r.see(file)
		case r.writes(file):
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

// writes reports whether a file is the one that the command writes.
func (r Reader) writes(file string) bool {
	if r.Written == "" {
		return false
	}
	a, err := os.Stat(file)
	b, missing := os.Stat(r.Written)
	return err == nil && missing == nil && os.SameFile(a, b)
}

// readAll reads the files that the paths select, except those to skip.
func (r Reader) readAll(paths []string, f filter,
	skip func(file string) bool) (all []source.File, unread []*source.Error) {
	for _, path := range paths {
		found, err := r.find(path, f)
		if err != nil {
			unread = append(unread, unreadable(path, err))
		}
		for _, file := range found {
			if skip(file) {
				continue
			}
			text, err := r.read(file, f.limit)
			if err != nil {
				unread = append(unread, unreadable(text.Name, err))
				continue
			}
			all = append(all, r.WithBeside(text))
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

// Read returns the content of a file, with a name for messages. Of a file that is larger
// than package source accepts, it returns the beginning.
func (r Reader) Read(path string) (source.File, error) { return r.read(path, sourceLimit) }

func (r Reader) read(path string, limit int) (source.File, error) {
	if path == Stdin {
		data, err := readTo(r.Stdin, limit)
		return source.File{Name: stdinName, Data: data}, err
	}
	r.see(path)
	data, err := r.readFile(path, limit)
	return source.File{Name: path, Data: data}, exit.Cause(err)
}

const (
	// sourceLimit is enough for package source to see that a file is too large. The
	// byte order mark does not count.
	sourceLimit = source.MaxFile + len("\ufeff") + 1
	// objectLimit is larger than any file of objects that a user means to read.
	objectLimit = 64 << 20
)

// readFile reads at most limit bytes of a file: devices have no end.
func (r Reader) readFile(path string, limit int) ([]byte, error) {
	if r.Texts != nil {
		text, exists := r.Texts[path]
		if !exists {
			return nil, fs.ErrNotExist
		}
		return readTo(strings.NewReader(text), limit)
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readTo(f, limit)
}

func readTo(r io.Reader, limit int) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, int64(limit)))
}
