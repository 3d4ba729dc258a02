package engine

import (
	"errors"
	"time"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// A refusal is the API server's no to one body. The same body is not sent
// again before its time, unless the object, the primary or a schema has changed:
// events may come by the hundred, and the answer may differ in words each time.
type refusal struct {
	err        *terminalError // nil: nothing was refused
	hash       [16]byte
	version    string // resourceVersion of the live object, "" when there was none
	generation int64  // of the primary
	schemas    int64  // how often schemas had changed
	until      time.Time
	denied     time.Time // since when a permission has been missing; zero: that is not it
}

// of returns the refusal of a body if it still stands.
func (r *refusal) of(p *pass, d *rules.Desired, version string) error {
	return r.ofBody(p, d.Hash, version)
}

// ofBody is of for a body of which there is only the hash.
func (r *refusal) ofBody(p *pass, hash [16]byte, version string) error {
	if r.err == nil || r.hash != hash || r.version != version || r.generation != p.self.GetGeneration() ||
		r.schemas != p.engine.schemaChanges.Load() || !p.engine.clock.Now().Before(r.until) {
		return nil
	}
	return r.err
}

// note remembers an error if it is a refusal, and returns it.
func (r *refusal) note(p *pass, d *rules.Desired, version string, err error) error {
	return r.noteBody(p, d.Hash, version, err)
}

// noteBody is note for a body of which there is only the hash.
func (r *refusal) noteBody(p *pass, hash [16]byte, version string, err error) error {
	denied, now := r.denied, p.engine.clock.Now()
	*r = refusal{}
	terminal, ok := errors.AsType[*terminalError](err)
	if !ok {
		return err
	}
	if terminal.reason == reasonForbidden {
		terminal = p.denied(terminal, &denied, now)
		r.denied = denied
	}
	r.err, r.hash, r.version, r.generation, r.schemas = terminal, hash, version, p.self.GetGeneration(), p.engine.schemaChanges.Load()
	// Somewhat less than the retry, so that the next reconciliation does send it.
	r.until = now.Add(terminal.retry * 3 / 4)
	return terminal // In the same words as later.
}

// rank puts what was refused after what was not.
func (r *refusal) rank() int {
	if r.err == nil {
		return 0
	}
	return 1
}

// denied returns what a missing permission means. An API server that has just
// restarted denies everything for some seconds, until it has read its roles: so
// it counts only when it lasts.
func (p *pass) denied(err *terminalError, since *time.Time, now time.Time) *terminalError {
	if since.IsZero() {
		*since = now
	}
	if now.Sub(*since) < watch.DeniedPatience && now.Sub(p.engine.started) > watch.DeniedPatience {
		return &terminalError{reasonRetrying, deniedRetry, err.err}
	}
	return err
}
