package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
)

// stdin is the path that stands for standard input, and stdinName what
// messages call it.
const (
	stdin     = "-"
	stdinName = "<stdin>"
)

// A search says which files of a folder count.
type search struct {
	extensions []string
	recursive  bool
	only       func(file string) bool // nil: all with such an extension
}

// recursiveFlag is the flag that all searches of a command share.
func recursiveFlag(flags *pflag.FlagSet, to *bool) {
	flags.BoolVarP(to, "recursive", "R", false, "include subfolders")
}

// find returns the files that a path stands for: the path itself, or the
// files in a folder, by name. Hidden files do not count, nor do the folders
// that Kubernetes keeps beside the files of a mounted ConfigMap.
func (s search) find(path string) ([]string, error) {
	if path == stdin {
		return []string{stdin}, nil
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
		case entry.IsDir() && (!s.recursive || hidden(entry)):
			return fs.SkipDir
		case isFile(entry) && !hidden(entry) && slices.Contains(s.extensions, filepath.Ext(file)) && (s.only == nil || s.only(file)):
			found = append(found, file)
		}
		return nil
	})
	if err != nil {
		return nil, exit.Cause(err)
	}
	if len(found) == 0 {
		return nil, noFile{s.extensions}
	}
	return found, nil
}

// A noFile is the error of a folder in which no file counts.
type noFile struct{ extensions []string }

func (e noFile) Error() string {
	return "no " + strings.Join(e.extensions, " or ") + " file in this folder"
}

// isFile reports whether an entry of a folder is a file, or a link, which may be
// to one. A pipe that somebody has put there would be waited for without end.
func isFile(entry fs.DirEntry) bool {
	return entry.Type().IsRegular() || entry.Type()&fs.ModeSymlink != 0
}

func hidden(entry fs.DirEntry) bool { return strings.HasPrefix(entry.Name(), ".") }

// read returns what a file holds, and its name for messages.
func (a *app) read(path string) (name string, data []byte, err error) {
	if path == stdin {
		data, err = io.ReadAll(a.stdin)
		return stdinName, data, err
	}
	data, err = readFile(path)
	if err != nil {
		return path, nil, exit.Cause(err)
	}
	return path, data, nil
}

// maxFile is more than anything that is meant to be read has.
const maxFile = 64 << 20

// readFile is os.ReadFile for what may have no end, such as a device that
// somebody's test names.
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
