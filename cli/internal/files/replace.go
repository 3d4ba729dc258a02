package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"reconcel/cli/internal/exit"
)

// Replace writes a file in one step: if it fails, the file is as it was. A link stays, and so
// does the mode of the file.
func Replace(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o666) // Without what the umask removes.
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular(): // A device or a pipe cannot be replaced.
		return exit.Cause(os.WriteFile(path, data, mode))
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return exit.Cause(err)
	}
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	err := os.WriteFile(next, data, mode)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next) // The first error counts.
	}
	return exit.Cause(err)
}
