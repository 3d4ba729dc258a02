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
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"reconcel/cli/internal/judge"
	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A change counts when a second read a little later finds the same: somebody may
// be in the middle of writing.
const (
	pollEvery = 2 * time.Second
	settle    = 100 * time.Millisecond
)

// recheckEvery is how often invalid rules are validated again: the schemas of the
// cluster may have changed.
const recheckEvery = 30 * time.Second

// Options are what a Watch needs.
type Options struct {
	Read      func() ([]source.File, source.Errors)
	Check     func(context.Context, *rules.Loaded) error // by the schemas of the cluster
	Paths     []string                                   // that Read reads; none: what it has read cannot be read again
	Policy    judge.Policy
	Validator *Validator // of the active rules; nil: there is no cluster
	Schemas   <-chan discover.Schemas
	Reload    func(context.Context, *rules.Program) error
	Reject    func(note string) // records that rules are rejected
	Log       *slog.Logger
	Metrics   *Metrics
}

// A Watch reads rules files again and again, and reloads the engine with those
// that are valid. The contents of the files decide, so that it does not matter how
// they are written: by an editor that renames, by the link of a ConfigMap, in
// place. Notifications of the file system only make it look sooner.
type Watch struct {
	Options
	state atomic.Pointer[State]

	active    *rules.Loaded
	hash      digest // of the active rules
	pending   *pending
	lastRead  digest
	since     time.Time        // when lastRead was first read
	published discover.Schemas // nil: not known yet
}

// pending are rules that differ from the active ones, and cannot be activated.
type pending struct {
	hash   digest
	loaded *rules.Loaded // nil: they are invalid
	reason string
	retry  time.Time
}

// New returns a watch for an engine with these active rules.
func New(options Options, active *rules.Loaded) *Watch {
	w := &Watch{Options: options}
	w.activated(active, digestOf(active.Sources, nil))
	return w
}

// State returns the state of the rules files. It may be called at any time.
func (w *Watch) State() *State { return w.state.Load() }

// Start watches until ctx ends. Its result is done when nothing runs any more.
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
	var looked time.Time
	next := time.NewTimer(pollEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-notifications:
			if wait := settle - time.Since(looked); wait > 0 {
				next.Reset(wait) // Other files of the folder may change all the time.
				continue
			}
		case w.published = <-w.Schemas:
			if w.pending != nil {
				w.pending.retry = time.Time{} // The rules may be valid now.
			}
		case <-next.C:
		}
		looked = time.Now()
		wait := pollEvery
		if len(w.Paths) > 0 {
			wait = w.look(ctx)
		}
		next.Reset(wait)
		if w.published != nil && w.Validator.outdated(w.active, w.published) {
			w.Validator.recheck(ctx, w.active)
		}
	}
}

// notifications returns a channel that receives when a file may have changed.
// Without notifications the poll remains.
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
		// The folder too: a file that is renamed over another is a new file.
		for _, folder := range []string{path, filepath.Dir(path)} {
			if err := watcher.Add(folder); err != nil {
				w.Log.Debug("file notifications are unavailable, polling", "path", folder, "error", err)
			}
		}
	}
	return watcher.Events, func() { _ = watcher.Close() }
}

// look reads the rules, and returns when to look again.
func (w *Watch) look(ctx context.Context) time.Duration {
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

// postpone remembers why rules are not active, and reports whether that is news.
func (w *Watch) postpone(p pending, err error) bool {
	p.reason = err.Error()
	news := w.pending == nil || w.pending.hash != p.hash || w.pending.reason != p.reason
	w.pending = &p
	w.Metrics.rejected()
	if news {
		w.state.Store(w.State().rejected(p.hash, err))
	}
	return news
}

// activated remembers the active rules, which are those in the files.
func (w *Watch) activated(active *rules.Loaded, hash digest) {
	w.active, w.hash, w.pending = active, hash, nil
	w.Metrics.activated(hash)
	w.state.Store(w.State().activated(hash))
}

// load loads rules that must be valid. A panic must not end the active rules.
func (w *Watch) load(ctx context.Context, files []source.File, unread source.Errors) (l *rules.Loaded, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = errors.New("internal error, see the log")
		}
	}()
	l = rules.Compile(files, unread...)
	if err = judge.Of(l, nil, w.Policy).Err(); err == nil {
		err = w.Check(ctx, l)
	}
	return l, err
}

// reject reports everything that is wrong with rules.
func (w *Watch) reject(err error) {
	all := split(err)
	for _, e := range all {
		w.Log.Error("rules invalid", "error", e)
	}
	w.Log.Error("rules not reloaded, the last valid rules stay active", "errors", len(all))
	w.Reject("the rules files are invalid, the last valid rules stay active: " + summary(all))
}

// split returns the errors about rules one by one.
func split(err error) []error {
	if all, ok := errors.AsType[source.Errors](err); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// summary is as much of errors as an Event should have.
func summary(all []error) string {
	text := all[0].Error()
	if more := len(all) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
