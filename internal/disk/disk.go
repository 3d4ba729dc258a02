// Package disk reads files: of the whole machine, or of one folder.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// EnvWithin is the environment variable that names a folder: what lies outside of it is not read, whatever a flag, a
// file or a link names. Who runs the commands with the files of others sets it, as reconcel-mcp does. It says nothing
// about kubeconfigs.
const EnvWithin = "RECONCEL_READ_WITHIN"

// within returns the folder that EnvWithin names, or nil if there is no limit.
var within = sync.OnceValues(func() (*os.Root, error) {
	folder := os.Getenv(EnvWithin)
	if folder == "" {
		return nil, nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("%s names %s: %w", EnvWithin, folder, errors.Unwrap(err)) // The error names the call as well.
	}
	return root, nil
})

// An OutsideError says that a path leads out of the folder that EnvWithin names.
type OutsideError struct{ Folder string }

func (e OutsideError) Error() string {
	return fmt.Sprintf("is outside of %s, and %s allows no other files", e.Folder, EnvWithin)
}

// mostWithin is the maximum size of a file in the folder that EnvWithin names, in bytes.
const mostWithin = 8 << 20

// regular returns an error unless a path in a folder leads to a folder, or to a file of a moderate size. To open a pipe
// would wait for a writer.
func regular(root *os.Root, path string) error {
	info, err := root.Stat(path)
	switch {
	case err != nil:
		return explained(root, err)
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("is neither a file nor a folder, and %s allows nothing else", EnvWithin)
	case info.Size() > mostWithin:
		return fmt.Errorf("has more than %d MiB, and %s allows no larger files", mostWithin>>20, EnvWithin)
	}
	return nil
}

// LeadsOut reports whether an error of an os.Root is that of a link which leads out of it, or is absolute. The package
// os exports no value for it.
func LeadsOut(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "path escapes from parent")
}

// explained replaces the error of a link that leads out of a folder.
func explained(root *os.Root, err error) error {
	if LeadsOut(err) {
		return fmt.Errorf("leads out of %s by a link, or by one with an absolute path, and %s allows only relative "+
			"links in it", root.Name(), EnvWithin)
	}
	return err
}

// locate returns the folder that limits what is read, and the path in it. Without a limit, the folder is nil.
func locate(path string) (*os.Root, string, error) {
	root, err := within()
	if root == nil || err != nil {
		return nil, path, err
	}
	at, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	in, err := filepath.Rel(root.Name(), at)
	if err != nil || !filepath.IsLocal(in) {
		return nil, "", OutsideError{root.Name()}
	}
	return root, in, nil
}

// Stat describes a file or folder, as os.Stat does.
func Stat(path string) (fs.FileInfo, error) {
	root, in, err := locate(path)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return os.Stat(path)
	}
	info, err := root.Stat(in)
	return info, explained(root, err)
}

// Open opens a file to read it, as os.Open does.
func Open(path string) (*os.File, error) {
	root, in, err := locate(path)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return os.Open(path)
	}
	if err := regular(root, in); err != nil {
		return nil, err
	}
	return root.Open(in)
}

// OpenRoot opens a folder whose files are read.
func OpenRoot(path string) (*os.Root, error) {
	root, in, err := locate(path)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return os.OpenRoot(path)
	}
	below, err := root.OpenRoot(in)
	return below, explained(root, err)
}

// ReadFile returns the content of a file, as os.ReadFile does.
func ReadFile(path string) ([]byte, error) {
	root, in, err := locate(path)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return os.ReadFile(path)
	}
	if err := regular(root, in); err != nil {
		return nil, err
	}
	return root.ReadFile(in)
}
