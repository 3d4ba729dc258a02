// Package rulewatch reloads the rules of a running engine when their files
// change, and validates the active rules when the schemas of the cluster change.
package rulewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reconcel/cli/internal/filewatch"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/ruleobjects"
	"reconcel/engine/discover"
	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/source"
)

// retryEvery is the interval at which the engine is asked again to reload.
const retryEvery = 2 * time.Second

// recheckEvery is the interval at which invalid rules are validated again, because
// the schemas of the cluster may have changed.
const recheckEvery = 30 * time.Second

// judgeAllAfter is the time from a change of some rules until all are judged. The next change does not wait until
// hundreds of rules that are the same have been judged again.
const judgeAllAfter = time.Second

// objectsPatience is how long a process that starts waits for the Rules objects. After that, it works with those that
// were active last.
const objectsPatience = 10 * time.Second

// objectsSettle is how long changes of objects are collected: tools apply several at once.
const objectsSettle = 20 * time.Millisecond

// Options are the dependencies of a Watch.
type Options struct {
	Read      func() ([]source.File, source.Errors)
	Check     func(context.Context, *rules.Loaded) error // with the schemas of the cluster
	Paths     []string                                   // of Read; none: they cannot be read again
	Objects   *ruleobjects.Objects                       // besides the files; nil: none
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

// A Watch reads rules files and Rules objects whenever they change, and reloads the engine with those that are valid.
type Watch struct {
	Options
	state atomic.Pointer[State]

	first      unit // the files as they were read first
	active     *rules.Loaded
	hash       digest                     // of the active rules
	incomplete bool                       // the active rules may lack some
	invalid    error                      // of the first rules, without a cluster
	composed   *composition               // of the active rules; nil: they are all that there are
	names      map[digest][]source.String // of the rules in files; kept by compose

	judged        *composition // the last one that was passed to Objects.Judge
	judgedInvalid []error      // the errors of the active rules at that time
}

// New returns a Watch for an engine that starts with these rules, if Approve approves them.
func New(options Options, first *rules.Loaded) *Watch {
	w := &Watch{Options: options, active: first, hash: digestOf(first.Sources, nil)}
	w.first = unit{files: first.Sources, unread: unreadOf(first)}
	w.state.Store(&State{})
	if w.invalid = judge.Of(first, nil, w.Policy).Err(); w.invalid == nil && w.Objects == nil {
		w.activated(first, w.hash)
	}
	return w
}

// unreadOf returns the errors of files that could not be read.
func unreadOf(l *rules.Loaded) (unread source.Errors) {
	for _, e := range l.Errors {
		if l.Unread && !slices.ContainsFunc(l.Sources, func(f source.File) bool { return f.Name == e.Pos.File }) {
			unread = append(unread, e)
		}
	}
	return unread
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
	if len(w.Paths) == 0 && len(w.first.files) > 0 {
		w.Log.Info("rules are not reloaded, some of them do not come from files")
	}
	if len(w.Paths) == 0 && w.Objects == nil && w.Validator == nil {
		return
	}
	changed := make(chan unit)
	var reading sync.WaitGroup
	if len(w.Paths) > 0 {
		reading.Go(func() { w.read(ctx, changed) })
	}
	defer reading.Wait()
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	files := w.first
	var objects <-chan struct{}
	var last *contents // nil: not read yet
	if w.Objects != nil {
		objects, last = w.Objects.Changed(), w.contentsOf(files, w.running())
	}
	var schemas discover.Schemas // nil: not known yet
	for {
		select {
		case <-ctx.Done():
			return
		case files = <-changed:
			last = w.contentsOf(files, w.running())
		case <-objects:
			outcome.Sleep(ctx, objectsSettle)
			reason := last.reason // A change of another object does not make it news.
			last = w.contentsOf(files, w.running())
			last.reason = reason
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
			if now := w.State().invalidForCluster(w.told(w.Validator.invalid)); !slices.Equal(now.InvalidForCluster,
				w.State().InvalidForCluster) {
				w.publish(now)
			}
		}
		w.judgeObjects()
	}
}

// read sends the files, at the start and whenever they have changed.
func (w *Watch) read(ctx context.Context, changed chan<- unit) {
	var before digest
	for {
		var now unit
		look := func() digest {
			now.files, now.unread = w.Read()
			return digestOf(now.files, now.unread)
		}
		hash := filewatch.Wait(ctx, w.Log, w.Paths, before, look)
		if hash == before {
			return
		}
		select {
		case changed <- now:
			before = hash
		case <-ctx.Done():
			return
		}
	}
}

// follow makes the rules of files and objects active, unless they already are or are not due yet.
func (w *Watch) follow(ctx context.Context, c *contents) {
	if c.settled || time.Now().Before(c.retry) {
		return
	}
	if c.hash == w.hash && c.unknown == nil && !w.incomplete && w.Objects == nil {
		c.settled = true
		w.matched()
		return
	}
	if c.next == nil {
		if c.next = w.compose(ctx, c, w.running()); c.next == nil {
			c.retry = time.Now().Add(recheckEvery)
			return
		}
	}
	next := c.next
	if next.hash != w.hash || next.incomplete != w.incomplete {
		if err := w.Reload(ctx, next.program()); err != nil {
			if ctx.Err() == nil && w.postpone(c, retryEvery, []error{err}, kept{some: w.hasRules()}) {
				w.Log.Error("reload failed, will retry", "error", err)
			}
			return
		}
		if next.tolerated && w.Validator != nil {
			w.Validator.postpone()
		}
		w.incomplete = next.incomplete
		w.activated(next.loaded, next.hash)
		w.Log.Info("rules reloaded", "files", len(next.loaded.Sources), "hash", next.hash.String())
		if w.Validator != nil {
			w.Validator.activated(ctx)
		}
	}
	c.next, w.composed = nil, next
	if wrong := next.rejected(); len(wrong) > 0 {
		if w.postpone(c, recheckEvery, wrong, next.kept()) {
			w.reject(wrong, next.kept())
		}
		return
	}
	c.settled = true
	w.matched()
}

// what says what the rules are.
func (w *Watch) what() string {
	switch {
	case w.Objects == nil:
		return "rules files"
	case len(w.first.files)+len(w.first.unread) == 0:
		return "Rules objects"
	}
	return "rules files or Rules objects"
}

// matched records that all files and objects are active.
func (w *Watch) matched() {
	if w.State().Rejected != nil {
		w.activated(w.active, w.hash)
		w.Log.Info("rules match the active ones again")
	}
}

// hasRules reports whether any rules are active.
func (w *Watch) hasRules() bool { return len(versionsOf(w.active.Sources).of) > 0 }

// running returns the versions of files and objects that are active.
func (w *Watch) running() versions {
	v := versionsOf(w.active.Sources)
	v.known = !w.incomplete
	return v
}

// postpone records why rules are not active, and which ones are instead. It reports whether the reason is new.
func (w *Watch) postpone(c *contents, wait time.Duration, wrong []error, kept kept) (news bool) {
	reason := strings.Join(texts(wrong), "\n")
	news = c.reason != reason
	c.reason, c.retry = reason, time.Now().Add(wait)
	w.Metrics.rejected()
	if news || w.State().Rejected == nil {
		w.publish(w.State().rejected(w.what(), kept, c.hash, wrong))
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

// reject logs and records all errors of rules.
func (w *Watch) reject(all []error, kept kept) {
	for _, e := range all {
		w.Log.Error("rules invalid", "error", e)
	}
	switch {
	case !w.hasRules():
		w.Log.Error("no rules are active until they are valid", "errors", len(all))
	case len(kept.without) == 0:
		w.Log.Error("rules not reloaded, the last valid rules stay active", "errors", len(all))
	default:
		w.Log.Error("rules not reloaded, some have no last valid version", "errors", len(all), "objects", kept.without)
	}
	w.Reject("the " + w.what() + " are invalid, " + kept.String() + ": " + summary(all))
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
