// Package rulewatch reloads the rules of a running engine when their files
// change, and validates the active rules when the schemas of the cluster change.
package rulewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"reconcel/cli/internal/judge"
	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A change counts only if a second read after settle finds the same content,
// because the file may still be written.
const (
	pollEvery = 2 * time.Second
	settle    = 100 * time.Millisecond
)

// recheckEvery is the interval at which invalid rules are validated again, because
// the schemas of the cluster may have changed.
const recheckEvery = 30 * time.Second

// Options are the dependencies of a Watch.
type Options struct {
	Read      func() ([]source.File, source.Errors)
	Check     func(context.Context, *rules.Loaded) error // with the schemas of the cluster
	Paths     []string                                   // of Read; none: they cannot be read again
	Policy    judge.Policy
	Validator *Validator // of the active rules; nil without a cluster
	Schemas   <-chan discover.Schemas
	Reload    func(context.Context, *rules.Program) error
	Reject    func(note string) // records that rules are rejected
	Publish   func(*State)      // is told each new state
	// Last returns the files that were active last, in this or another process, or no files. It is
	// nil if a process must not start with them.
	Last    func(context.Context) ([]source.File, error)
	Log     *slog.Logger
	Metrics *Metrics
}

// A Watch reads rules files repeatedly, and reloads the engine when they are valid.
// It compares contents, so it does not matter how the files are written: by a
// rename, by the link of a ConfigMap, or in place. File notifications only make it
// read sooner.
type Watch struct {
	Options
	state atomic.Pointer[State]

	active    *rules.Loaded
	hash      digest // of the active rules
	invalid   error  // of the first rules, without a cluster
	pending   *pending
	lastRead  digest
	since     time.Time        // when lastRead was first read
	published discover.Schemas // nil: not known yet
}

// pending are rules that differ from the active ones and cannot become active.
type pending struct {
	hash   digest
	loaded *rules.Loaded // nil: they are invalid
	reason string
	retry  time.Time
}

// New returns a Watch for an engine that starts with these rules, if Approve approves them.
func New(options Options, first *rules.Loaded) *Watch {
	w := &Watch{Options: options, active: first, hash: digestOf(first.Sources, nil)}
	w.state.Store(&State{})
	if w.invalid = judge.Of(first, nil, w.Policy).Err(); w.invalid == nil {
		w.activated(first, w.hash)
	}
	return w
}

// State returns the state of the rules files. It is safe for concurrent use.
func (w *Watch) State() *State { return w.state.Load() }

// Start watches until ctx ends. The WaitGroup is done when all goroutines have
// ended.
func (w *Watch) Start(ctx context.Context) *sync.WaitGroup {
	var watching sync.WaitGroup
	watching.Go(func() { w.run(ctx) })
	return &watching
}

func (w *Watch) run(ctx context.Context) {
	if w.Validator != nil {
		w.Validator.activated(ctx)
		defer w.Validator.stopReview()
	}
	if len(w.Paths) == 0 {
		w.Log.Info("rules are not reloaded, some of them do not come from files")
		if w.Validator == nil {
			return
		}
	}
	notifications, stop := w.notifications()
	defer stop()
	var readAt time.Time
	next := time.NewTimer(pollEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-notifications:
			if wait := settle - time.Since(readAt); wait > 0 {
				next.Reset(wait) // Other files in the folder may change all the time.
				continue
			}
		case w.published = <-w.Schemas:
			if w.pending != nil {
				w.pending.retry = time.Time{} // The rules may be valid now.
			}
		case <-next.C:
		}
		readAt = time.Now()
		wait := pollEvery
		if len(w.Paths) > 0 {
			wait = w.reread(ctx)
		}
		next.Reset(wait)
		if w.published != nil && w.Validator.outdated(w.active, w.published) {
			w.Validator.recheck(ctx, w.active)
			if now := w.State().invalidForCluster(w.Validator.invalid); !slices.Equal(now.InvalidForCluster, w.State().InvalidForCluster) {
				w.publish(now)
			}
		}
	}
}

// notifications returns a channel that receives when a file may have changed.
// Polling continues without notifications.
func (w *Watch) notifications() (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewBufferedWatcher(100)
	if err != nil {
		w.Log.Debug("file notifications are unavailable, polling", "error", err)
		return nil, func() {}
	}
	go func() {
		for err := range watcher.Errors {
			w.Log.Debug("file notifications may be lost, polling", "error", err)
		}
	}()
	for _, path := range w.Paths {
		// Watch the folder too: a file that replaces another is a new inode.
		for _, folder := range []string{path, filepath.Dir(path)} {
			if err := watcher.Add(folder); err != nil {
				w.Log.Debug("file notifications are unavailable, polling", "path", folder, "error", err)
			}
		}
	}
	return watcher.Events, func() { _ = watcher.Close() }
}

// reread reads the rules, and returns the time until the next read.
func (w *Watch) reread(ctx context.Context) time.Duration {
	files, unread := w.Read()
	now := digestOf(files, unread)
	if now != w.lastRead {
		w.lastRead, w.since = now, time.Now()
	}
	known := w.pending != nil && w.pending.hash == now
	switch {
	case now == w.hash:
		if w.pending != nil {
			w.activated(w.active, now)
			w.Log.Info("rules files match the active rules again")
		}
		return pollEvery
	case known && time.Now().Before(w.pending.retry):
		return pollEvery
	case time.Since(w.since) < settle:
		return settle
	}
	var loaded *rules.Loaded
	if known {
		loaded = w.pending.loaded
	}
	if loaded == nil {
		var err error
		if loaded, err = w.load(ctx, files, unread); err != nil {
			if w.postpone(pending{hash: now, retry: time.Now().Add(recheckEvery)}, err) {
				w.reject(err)
			}
			return pollEvery
		}
	}
	if err := w.Reload(ctx, loaded.Program); err != nil {
		if ctx.Err() == nil && w.postpone(pending{hash: now, loaded: loaded, retry: time.Now().Add(pollEvery)}, err) {
			w.Log.Error("reload failed, will retry", "error", err)
		}
		return pollEvery
	}
	w.activated(loaded, now)
	w.Log.Info("rules reloaded", "files", len(files), "hash", now.String())
	if w.Validator != nil {
		w.Validator.activated(ctx)
	}
	return pollEvery
}

// postpone records why rules are not active, and reports whether the reason is new.
func (w *Watch) postpone(p pending, err error) bool {
	p.reason = err.Error()
	news := w.pending == nil || w.pending.hash != p.hash || w.pending.reason != p.reason
	w.pending = &p
	w.Metrics.rejected()
	if news {
		w.publish(w.State().rejected(p.hash, err))
	}
	return news
}

// activated records the active rules.
func (w *Watch) activated(active *rules.Loaded, hash digest) {
	w.active, w.hash, w.pending = active, hash, nil
	w.Metrics.activated(hash)
	w.publish(w.State().activated(hash))
}

func (w *Watch) publish(s *State) {
	w.state.Store(s)
	if w.Publish != nil {
		w.Publish(s)
	}
}

// load loads valid rules. It recovers from a panic, so that the active rules keep
// running.
func (w *Watch) load(ctx context.Context, files []source.File, unread source.Errors) (l *rules.Loaded, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = errors.New("internal error, see the log")
		}
	}()
	l = w.active.Recompile(files, unread...)
	if err = judge.Of(l, nil, w.Policy).Err(); err == nil {
		err = w.Check(ctx, l)
	}
	return l, err
}

// reject logs and records all errors of rules.
func (w *Watch) reject(err error) {
	all := split(err)
	for _, e := range all {
		w.Log.Error("rules invalid", "error", e)
	}
	w.Log.Error("rules not reloaded, the last valid rules stay active", "errors", len(all))
	w.Reject("the rules files are invalid, the last valid rules stay active: " + summary(all))
}

// split returns the errors of rules one by one.
func split(err error) []error {
	if all, ok := errors.AsType[source.Errors](err); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// summary is a text that is short enough for an Event.
func summary(all []error) string {
	text := all[0].Error()
	if more := len(all) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
