package engine

import (
	"errors"
	"time"

	"reconcel/engine/watch"
)

// A rejectedWrite is a write that the API server has rejected. The same body is
// not sent again before its time, unless the object, the primary or a schema has
// changed: events may come by the hundred, and the answer may differ in words
// each time.
type rejectedWrite struct {
	err        *terminalError
	hash       [16]byte // of the body
	version    string   // resourceVersion of the live object, "" when there was none
	generation int64    // of the primary
	schemas    int64    // Engine.schemaChanges
	until      time.Time
	denied     time.Time // since when a permission has been missing; zero: that is not it
}

// stands returns the error of the last write if the same body would be rejected
// again. A nil r stands for a write that was accepted.
func (r *rejectedWrite) stands(p *pass, hash [16]byte, version string) error {
	if r == nil || r.hash != hash || r.version != version || r.generation != p.self.GetGeneration() ||
		r.schemas != p.engine.schemaChanges.Load() || !p.engine.clock.Now().Before(r.until) {
		return nil
	}
	return r.err
}

// noteRejection remembers an error if it is a rejection, and returns it in the
// words that are used for as long as it stands.
func (p *pass) noteRejection(last **rejectedWrite, hash [16]byte, version string, err error) error {
	before, now := *last, p.engine.clock.Now()
	*last = nil
	terminal, ok := errors.AsType[*terminalError](err)
	if !ok {
		return err
	}
	r := &rejectedWrite{hash: hash, version: version, generation: p.self.GetGeneration(), schemas: p.engine.schemaChanges.Load()}
	if terminal.reason == reasonForbidden {
		if r.denied = now; before != nil && !before.denied.IsZero() {
			r.denied = before.denied
		}
		terminal = p.denied(terminal, r.denied, now)
	}
	r.err = terminal
	// Somewhat less than the retry, so that the next reconciliation does send it.
	r.until = now.Add(terminal.retry * 3 / 4)
	*last = r
	return terminal
}

// rank orders what was rejected after what was not.
func (r *rejectedWrite) rank() int {
	if r == nil {
		return 0
	}
	return 1
}

// denied returns what a missing permission means. An API server that has just
// restarted denies everything for some seconds, until it has read its roles: so
// a denial counts only when it lasts.
func (p *pass) denied(err *terminalError, since, now time.Time) *terminalError {
	if now.Sub(since) < watch.DeniedPatience && now.Sub(p.engine.started) > watch.DeniedPatience {
		return &terminalError{reasonRetrying, deniedRetry, err.err}
	}
	return err
}
