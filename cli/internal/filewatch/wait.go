// Package filewatch waits until the content of files and folders has changed.
//
// It compares contents, so it does not matter how a file is written: in place, by a rename as
// editors do, or by the link of a mounted ConfigMap. Notifications of the file system only make
// it look sooner.
package filewatch

import (
	"context"
	"log/slog"
	"path/filepath"
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
