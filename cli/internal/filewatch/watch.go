// Package filewatch waits until files that a command has read change.
package filewatch

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A change counts only if a second look after settle finds the same content, because
// the file may still be written. Without notifications, files are read every pollEvery.
const (
	settle    = 100 * time.Millisecond
	pollEvery = 2 * time.Second
)

// A Watch remembers the content of files and folders. It compares contents, so it does
// not matter whether an editor replaces a file or writes into it.
type Watch struct {
	paths  []string
	stamps map[string]stamp
}

// A stamp identifies the content of a file, or the names in a folder.
type stamp [sha256.Size]byte

// New returns a Watch of nothing.
func New() *Watch { return &Watch{stamps: map[string]stamp{}} }

// See adds a file or folder before it is read, so that a change while it is read counts.
func (w *Watch) See(path string) {
	if _, known := w.stamps[path]; !known {
		w.paths = append(w.paths, path)
		w.stamps[path] = stampOf(path)
	}
}

// Wait returns the first of the files that has changed, or "" when ctx ends.
func (w *Watch) Wait(ctx context.Context) (changed string) {
	events, stop := w.notifications()
	defer stop()
	next := time.NewTimer(0) // Something may have changed since it was read.
	defer next.Stop()
	var before map[string]stamp
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-events:
			next.Reset(settle)
		case <-next.C:
			now := w.look()
			changed := slices.IndexFunc(w.paths, func(path string) bool { return now[path] != w.stamps[path] })
			switch {
			case changed < 0:
				next.Reset(pollEvery)
			case before != nil && !w.differ(before, now):
				return w.paths[changed]
			default:
				next.Reset(settle)
			}
			before = now
		}
	}
}

func (w *Watch) look() map[string]stamp {
	now := make(map[string]stamp, len(w.paths))
	for _, path := range w.paths {
		now[path] = stampOf(path)
	}
	return now
}

func (w *Watch) differ(a, b map[string]stamp) bool {
	return slices.ContainsFunc(w.paths, func(path string) bool { return a[path] != b[path] })
}

// notifications returns a channel that receives when a file may have changed. Without
// notifications, it is nil.
func (w *Watch) notifications() (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewBufferedWatcher(100)
	if err != nil {
		return nil, func() {}
	}
	go func() {
		for range watcher.Errors { // Polling finds what notifications miss.
		}
	}()
	for _, path := range w.paths {
		// Watch the folder too: a file that replaces another is a new inode.
		for _, at := range []string{path, filepath.Dir(path)} {
			_ = watcher.Add(at)
		}
	}
	return watcher.Events, func() { _ = watcher.Close() }
}

// stampOf returns the zero stamp for what cannot be read. Of other than regular files,
// which may have no end, only the existence counts.
func stampOf(path string) (s stamp) {
	info, err := os.Stat(path)
	if err != nil {
		return s
	}
	h := sha256.New()
	_, _ = io.WriteString(h, info.Mode().Type().String()) // A hash takes everything.
	switch {
	case info.IsDir():
		entries, err := os.ReadDir(path)
		if err != nil {
			return s
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") { // Editors keep hidden files beside the one they edit.
				_, _ = io.WriteString(h, e.Name()+"\x00")
			}
		}
	case info.Mode().IsRegular():
		f, err := os.Open(path)
		if err != nil {
			return s
		}
		defer f.Close()
		if _, err := io.Copy(h, f); err != nil {
			return s
		}
	}
	return stamp(h.Sum(nil))
}
