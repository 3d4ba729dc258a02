// Package rulewatch reloads the rules of a running engine when their files
// change, and validates the active rules when the schemas of the cluster change.
package rulewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reconcel/cli/internal/filewatch"
	"reconcel/cli/internal/judge"
	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/source"
)

// retryEvery is the interval at which the engine is asked again to reload.
const retryEvery = 2 * time.Second

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
	// Last returns the files that were active last, in this or another process, or nil. With an empty list, a process
	// starts without rules until those of the files are valid. It is nil if a process must start with its own rules.
	Last    func(context.Context) ([]source.File, error)
	Log     *slog.Logger
	Metrics *Metrics
}

// A Watch reads rules files whenever they change, and reloads the engine when they are valid.
type Watch struct {
	Options
	state atomic.Pointer[State]

	active  *rules.Loaded
	hash    digest // of the active rules
	invalid error  // of the first rules, without a cluster
}

// contents are what the files have, and what became of it.
type contents struct {
	files  []source.File
	unread source.Errors
	hash   digest
	loaded *rules.Loaded // nil: not judged yet, or invalid
	reason string        // why they are not active
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
	changed := make(chan *contents)
	var reading sync.WaitGroup
	if len(w.Paths) > 0 {
		reading.Go(func() { w.read(ctx, changed) })
	}
	defer reading.Wait()
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	var last *contents           // nil: not read yet
	var schemas discover.Schemas // nil: not known yet
	for {
		select {
		case <-ctx.Done():
			return
		case last = <-changed:
		case schemas = <-w.Schemas:
			if last != nil {
				last.retry = time.Time{} // The rules may be valid now.
			}
		case <-retry.C:
		}
		if last != nil {
			w.follow(ctx, last)
		}
		if schemas != nil && w.Validator.outdated(w.active, schemas) {
			w.Validator.recheck(ctx, w.active)
			if now := w.State().invalidForCluster(w.Validator.invalid); !slices.Equal(now.InvalidForCluster,
				w.State().InvalidForCluster) {
				w.publish(now)
			}
		}
	}
}

// read sends the contents of the files, at the start and whenever they have changed.
func (w *Watch) read(ctx context.Context, changed chan<- *contents) {
	var before digest
	for {
		var now *contents
		look := func() digest {
			files, unread := w.Read()
			now = &contents{files: files, unread: unread, hash: digestOf(files, unread)}
			return now.hash
		}
		if filewatch.Wait(ctx, w.Log, w.Paths, before, look) == before {
			return
		}
		select {
		case changed <- now:
			before = now.hash
		case <-ctx.Done():
			return
		}
	}
}

// follow makes the rules of the files active, unless they already are or are not due yet.
func (w *Watch) follow(ctx context.Context, c *contents) {
	switch {
	case c.hash == w.hash && w.State().Rejected != nil:
		w.activated(w.active, w.hash)
		w.Log.Info("rules files match the active rules again")
		return
	case c.hash == w.hash || time.Now().Before(c.retry):
		return
	}
	if c.loaded == nil {
		loaded, err := w.load(ctx, c)
		if err != nil {
			if w.postpone(c, recheckEvery, err) {
				w.reject(err)
			}
			return
		}
		c.loaded = loaded
	}
	if err := w.Reload(ctx, c.loaded.Program); err != nil {
		if ctx.Err() == nil && w.postpone(c, retryEvery, err) {
			w.Log.Error("reload failed, will retry", "error", err)
		}
		return
	}
	w.activated(c.loaded, c.hash)
	w.Log.Info("rules reloaded", "files", len(c.files), "hash", c.hash.String())
	if w.Validator != nil {
		w.Validator.activated(ctx)
	}
}

// postpone records why rules are not active, and reports whether the reason is new.
func (w *Watch) postpone(c *contents, wait time.Duration, err error) (news bool) {
	news = c.reason != err.Error()
	c.reason, c.retry = err.Error(), time.Now().Add(wait)
	w.Metrics.rejected()
	if news {
		w.publish(w.State().rejected(c.hash, err))
	}
	return news
}

// activated records the active rules.
func (w *Watch) activated(active *rules.Loaded, hash digest) {
	w.active, w.hash = active, hash
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
func (w *Watch) load(ctx context.Context, c *contents) (l *rules.Loaded, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = errors.New("internal error, see the log")
		}
	}()
	l = w.active.Recompile(c.files, c.unread...)
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
	if len(w.active.Sources) == 0 {
		w.Log.Error("no rules are active until they are valid", "errors", len(all))
	} else {
		w.Log.Error("rules not reloaded, the last valid rules stay active", "errors", len(all))
	}
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
