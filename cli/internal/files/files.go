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
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// A Search selects files in a folder.
type Search struct {
	Extensions []string
	Recursive  bool
	Only       func(file string) bool // nil: all files with such an extension
}

// Find returns the path itself, or the files in a folder by name. It skips hidden
// files, and the hidden folders that Kubernetes keeps in a mounted ConfigMap.
func (s Search) Find(path string) ([]string, error) {
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
		case entry.IsDir() && (!s.Recursive || hidden(entry)):
			return fs.SkipDir
		case isFile(entry) && !hidden(entry) && slices.Contains(s.Extensions, filepath.Ext(file)) && (s.Only == nil || s.Only(file)):
			found = append(found, file)
		}
		return nil
	})
	if err != nil {
		return nil, exit.Cause(err)
	}
	if len(found) == 0 {
		return nil, NoFileError{s.Extensions}
	}
	return found, nil
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

func hidden(entry fs.DirEntry) bool { return strings.HasPrefix(entry.Name(), ".") }

// A Reader reads files and standard input.
type Reader struct{ Stdin io.Reader }

// Read returns the content of a file, and a name for messages.
func (r Reader) Read(path string) (name string, data []byte, err error) {
	if path == Stdin {
		data, err = io.ReadAll(r.Stdin)
		return "<stdin>", data, err
	}
	data, err = readFile(path)
	if err != nil {
		return path, nil, exit.Cause(err)
	}
	return path, data, nil
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
