package engine

import (
	"errors"
	"time"

	"reconcel/engine/watch"
)

// A rejectedWrite is a write that the API server has rejected. The same body is
// not sent again before the retry interval ends, unless the object, the primary
// or a schema changes. Otherwise hundreds of events could repeat the write, each
// with a slightly different error message.
type rejectedWrite struct {
	err        *terminalError
	hash       [16]byte // of the body
	version    string   // resourceVersion of the live object; "": it did not exist
	generation int64    // of the primary
	schemas    int64    // Engine.schemaChanges
	until      time.Time
	denied     time.Time // since when a permission is missing; zero: another error
}

// stands returns the error of the last write if the same body would be rejected
// again. A nil r means that the last write was accepted.
func (r *rejectedWrite) stands(p *pass, hash [16]byte, version string) error {
	if r == nil || r.hash != hash || r.version != version || r.generation != p.self.GetGeneration() ||
		r.schemas != p.engine.schemaChanges.Load() || !p.engine.clock.Now().Before(r.until) {
		return nil
	}
	return r.err
}

// noteRejection records an error if it is a rejection. It returns the error to
// report, which stays the same as long as the rejection is valid.
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
	// Less than the retry interval, so that the next reconciliation sends the
	// write again.
	r.until = now.Add(terminal.retry * 3 / 4)
	*last = r
	return terminal
}

// rank sorts rejected writes after accepted ones.
func (r *rejectedWrite) rank() int {
	if r == nil {
		return 0
	}
	return 1
}

// denied returns the error to report for a missing permission. An API server
// that has just restarted denies all requests for some seconds, until it has
// read its roles. So a denial is an error only when it lasts.
func (p *pass) denied(err *terminalError, since, now time.Time) *terminalError {
	if now.Sub(since) < watch.DeniedPatience && now.Sub(p.engine.started) > watch.DeniedPatience {
		return &terminalError{reasonRetrying, deniedRetry, err.err}
	}
	return err
}
