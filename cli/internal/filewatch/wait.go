// Package filewatch waits until the content of files and folders has changed.
//
// It compares contents, so it does not matter how a file is written: in place, by a rename as
// editors do, or by the link of a mounted ConfigMap. Notifications of the file system only make
// it look sooner.
package filewatch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A change counts only if a second look after settle finds the same content, because
// the file may still be written. Without notifications, it looks every pollEvery.
const (
	settle    = 100 * time.Millisecond
	pollEvery = 2 * time.Second
)

// Wait returns what identifies the content of files, as soon as look has returned it twice and it
// is not before. The files are at these paths, or in these folders. When ctx ends, it returns before.
func Wait[T comparable](ctx context.Context, log *slog.Logger, paths []string, before T, look func() T) T {
	events, stop := notifications(log, paths)
	defer stop()
	last, looked := before, time.Time{}
	next := time.NewTimer(0) // Something may have changed since it was read.
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return before
		case <-events:
			next.Reset(settle - time.Since(looked)) // Other files in a folder may change all the time.
			continue
		case <-next.C:
		}
		now := look()
		looked = time.Now()
		switch now {
		case before:
			next.Reset(pollEvery)
		case last:
			return now
		default:
			next.Reset(settle)
		}
		last = now
	}
}

// notifications returns a channel that receives when a file may have changed.
func notifications(log *slog.Logger, paths []string) (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewBufferedWatcher(100)
	if err != nil {
		log.Debug("file notifications are unavailable, polling", "error", err)
		return nil, func() {}
	}
	go func() {
		for err := range watcher.Errors {
			log.Debug("file notifications may be lost, polling", "error", err)
		}
	}()
	for _, path := range paths {
		// Watch the folder too: a file that replaces another is a new inode.
		for _, at := range []string{path, filepath.Dir(path)} {
			if err := watcher.Add(at); err != nil {
				log.Debug("file notifications are unavailable, polling", "path", at, "error", err)
			}
		}
	}
	return watcher.Events, func() { _ = watcher.Close() }
}

// Seen is the files and folders that a command has read, with their content.
type Seen struct{ paths, stamps []string }

// Add adds a file or folder before it is read, so that a change while it is read counts.
func (s *Seen) Add(path string) {
	if !slices.Contains(s.paths, path) {
		s.paths, s.stamps = append(s.paths, path), append(s.stamps, stampOf(path))
	}
}

// Wait returns the first of them that has changed, or "" when ctx ends.
func (s *Seen) Wait(ctx context.Context) (changed string) {
	var now []string
	look := func() string {
		now = nil
		for _, path := range s.paths {
			now = append(now, stampOf(path))
		}
		return strings.Join(now, "")
	}
	before := strings.Join(s.stamps, "")
	if Wait(ctx, slog.New(slog.DiscardHandler), s.paths, before, look) == before {
		return ""
	}
	first := 0
	for now[first] == s.stamps[first] {
		first++
	}
	return s.paths[first]
}

// stampOf returns a hash of the content of a file or folder, or of why it cannot be read.
func stampOf(path string) string {
	content, err := contentOf(path)
	sum := sha256.Sum256(fmt.Append(nil, content, err))
	return string(sum[:])
}

// contentOf returns the text of a file, or the names in a folder. Of other files, which may have
// no end, only the existence counts.
func contentOf(path string) (content string, err error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return "", err
	case info.IsDir():
		entries, err := os.ReadDir(path)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") { // Editors keep hidden files beside the one they edit.
				content += e.Name() + "\x00"
			}
		}
		return content, err
	case info.Mode().IsRegular():
		text, err := os.ReadFile(path)
		return string(text), err
	}
	return "", nil
}
