package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"unicode/utf8"

	"reconcel/cli/internal/exit"
	"reconcel/internal/disk"
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// mostBeside is the maximum size of a file beside rules. All of them together with the rules are in one ConfigMap, and
// an object that has such a file has other fields, too.
const mostBeside = 256 << 10

// callsFile finds files that may read others. Their expressions are parsed twice.
var callsFile = regexp.MustCompile(`\bfile\s*\(`)

// WithBeside returns a rules file with the files that its expressions read.
func (r Reader) WithBeside(file source.File) source.File {
	if r.Texts != nil || IsStdin(file) || !callsFile.Match(file.Data) {
		return file
	}
	size := len(file.Data)
	for _, e := range syntax.ExpressionsIn(file) {
		for _, path := range expr.FilesIn(e) {
			if slices.ContainsFunc(file.Beside, func(t source.TextFile) bool { return t.Path == path }) {
				continue
			}
			t := source.TextFile{Path: path}
			text, err := r.readBeside(filepath.Dir(file.Name), filepath.FromSlash(path))
			if size += len(text); err == nil && size > source.MaxFile {
				err = fmt.Errorf("the rules file and the files that it reads have more than %d bytes together, and a ConfigMap "+
					"holds no more", source.MaxFile)
			}
			if err != nil {
				t.Wrong = exit.Cause(err).Error()
			} else {
				t.Text = string(text)
			}
			file.Beside = append(file.Beside, t)
		}
	}
	return file
}

// isRead reports whether expressions in one of the files read a file.
func isRead(file source.File, by []source.File) bool {
	return slices.ContainsFunc(by, func(f source.File) bool {
		return slices.ContainsFunc(f.Beside, func(t source.TextFile) bool {
			return filepath.Join(filepath.Dir(f.Name), filepath.FromSlash(t.Path)) == filepath.Clean(file.Name)
		})
	})
}

// readBeside reads a file in a folder. No link leads out of the folder.
func (r Reader) readBeside(folder, path string) ([]byte, error) {
	if !filepath.IsLocal(path) {
		return nil, errors.New("the path must begin at the folder of the rules, and not leave it")
	}
	r.see(filepath.Join(folder, path))
	root, err := disk.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no such file in the folder of the rules: %s", folder)
	case disk.LeadsOut(err):
		return nil, fmt.Errorf("a link leads out of the folder of the rules, or is absolute: %s", folder)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a file") // Reading a pipe could block forever.
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBeside+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > mostBeside:
		return nil, fmt.Errorf("the file has more than %d KiB", mostBeside>>10)
	case !utf8.Valid(text):
		return nil, errors.New("the file is not UTF-8 text: for bytes, write it as base64, which binaryData takes")
	}
	return text, nil
}
