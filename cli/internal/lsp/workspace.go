package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A workspace knows the kinds that CRDs define: those that are given, or else those
// beside each file. It reads them again when they have changed. It is safe for
// concurrent use.
type workspace struct {
	mu      sync.Mutex
	given   []string
	folders map[string]*folder
	defines map[string]stamp // the files that were searched for CRDs
}

// A folder has the kinds for the files in it.
type folder struct {
	dir   string
	stamp string // of the CRDs
	set   *schema.Set
	wrong source.Errors // in the CRDs
	err   error         // why the CRDs could not be read
}

// A stamp identifies the content of a file, without reading it.
type stamp struct {
	text string
	crd  bool
}

// give replaces the files and folders with CRDs. With none, those beside each file count.
func (w *workspace) give(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given = paths
}

// last returns the kinds as they were read last.
func (w *workspace) last(path string) *schema.Set {
	w.mu.Lock()
	f := w.folders[filepath.Dir(path)]
	w.mu.Unlock()
	if f == nil {
		f = w.read(path)
	}
	return f.set
}

// read returns the kinds for a file. It reads CRDs again that have changed.
func (w *workspace) read(path string) *folder {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir := filepath.Dir(path)
	paths := w.given
	if len(paths) == 0 {
		paths = w.beside(dir)
	}
	now := w.stampOf(paths)
	if f := w.folders[dir]; f != nil && f.stamp == now {
		return f
	}
	f := &folder{dir: dir, stamp: now, set: schema.Builtin()}
	if kinds, err := offline.ReadKinds(files.Reader{}, paths); err == nil {
		f.set = kinds.Set
	} else if !errors.As(err, &f.wrong) {
		f.err = err
	}
	w.folders[dir] = f
	return f
}

// beside returns the files with CRDs in a folder, and in the folder crds in it.
func (w *workspace) beside(dir string) (paths []string) {
	for _, folder := range []string{dir, filepath.Join(dir, "crds")} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // There may be no folder crds, and no folder of a file that is not saved.
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) && e.Type().IsRegular() && w.definesKinds(path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// definesKinds reports whether a file has CRDs.
func (w *workspace) definesKinds(path string) bool {
	now := stampOf(path)
	if known, ok := w.defines[path]; ok && known.text == now {
		return known.crd
	}
	content, err := files.Reader{}.Read(path)
	crd := err == nil && bytes.Contains(content.Data, []byte("CustomResourceDefinition")) && crdLine(content.Data)
	w.defines[path] = stamp{now, crd}
	return crd
}

// crdLine reports whether a line of a file is the kind of a CRD.
func crdLine(data []byte) bool {
	for line := range bytes.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		if strings.Trim(key, `"- `) == "kind" && strings.Trim(value, `"', `) == "CustomResourceDefinition" {
			return true
		}
	}
	return false
}

func (w *workspace) stampOf(paths []string) string {
	var all []string
	for _, path := range paths {
		all = append(all, stampOf(path))
		if entries, err := os.ReadDir(path); err == nil {
			for _, e := range entries {
				all = append(all, stampOf(filepath.Join(path, e.Name())))
			}
		}
	}
	return strings.Join(all, "\n")
}

func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprint(path, info.Size(), info.ModTime().UnixNano())
}
