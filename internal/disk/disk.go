// Package disk reads files: of the whole machine, or of one folder.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	return root.Stat(in)
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
	return root.OpenRoot(in)
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
	return root.ReadFile(in)
}
