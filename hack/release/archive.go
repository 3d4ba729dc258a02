package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An entry is one file in an archive.
type entry struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// An archive is a packed binary.
type archive struct {
	binary
	name string
	sum  string // SHA-256
}

// pack writes the programs with the license as .zip for Windows and as .tar.gz for others.
func pack(to string, b binary, license []byte) (archive, error) {
	entries := []entry{{b.fileName("reconcel"), 0o755, b.content}}
	for _, name := range slices.Sorted(maps.Keys(b.helpers)) {
		entries = append(entries, entry{b.fileName(name), 0o755, b.helpers[name]})
	}
	entries = append(entries, entry{"LICENSE", 0o644, license})
	a := archive{binary: b, name: fmt.Sprintf("reconcel-%s-%s-%s.tar.gz", b.version, b.os, b.arch)}
	text, err := tarGz(entries, b.time)
	if b.os == "windows" {
		a.name = strings.TrimSuffix(a.name, ".tar.gz") + ".zip"
		text, err = zipped(entries, b.time)
	}
	a.sum = fmt.Sprintf("%x", sha256.Sum256(text))
	return a, errors.Join(err, os.WriteFile(filepath.Join(to, a.name), text, 0o644))
}

// tarred returns a tar archive. All files are of the same time and of root.
func tarred(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.path, Mode: int64(e.mode), Size: int64(len(e.content)),
			ModTime: at, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func tarGz(entries []entry, at time.Time) ([]byte, error) {
	text, err := tarred(entries, at)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(text)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func zipped(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.path, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(e.mode)
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// readFolder returns the files of a folder, sorted by path.
func readFolder(folder string) (entries []entry, err error) {
	root := os.DirFS(folder)
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		entries = append(entries, entry{path, 0o644, content})
		return err
	})
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return entries, err
}

// writeSums writes the SHA-256 sums of all files of a folder, as sha256sum -c reads them.
func writeSums(folder string) error {
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(e.content), e.path)
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), b.Bytes(), 0o644)
}
