package leader

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrNotLeading is the error of a write that Candidate.Guard has stopped.
var ErrNotLeading = errors.New("this process is not the leader and must not write")

// A term is the time in which this process may write.
type term struct {
	renewed  atomic.Pointer[time.Time] // when the last successful renewal was sent; nil: it never led
	resigned atomic.Bool               // the Lease is being released, or has been
	lost     func(error)
}

func (t *term) renew(at time.Time) { t.renewed.Store(&at) }

func (t *term) mayWrite() bool { return !t.resigned.Load() && t.excludesOthers() }

// excludesOthers reports whether no other process can have the Lease. Both clocks
// must say so: the monotonic one stands still while a machine sleeps.
func (t *term) excludesOthers() bool {
	at := t.renewed.Load()
	if at == nil {
		return false
	}
	now := time.Now()
	return now.Sub(*at) < renewDeadline && now.Round(0).Sub(at.Round(0)) < renewDeadline
}

// check returns an error if nothing may be written now. It calls lost at the end
// of a term.
func (t *term) check() error {
	switch {
	case t.mayWrite():
		return nil
	case t.renewed.Load() != nil && !t.resigned.Load():
		t.lost(fmt.Errorf("the Lease was not renewed within %s", renewDeadline))
	}
	return ErrNotLeading
}

// giveUp ends the term if there is a reason. The Lease is not released: a write of this process may
// still be on its way, and is over when the Lease expires.
func (t *term) giveUp(reason error) {
	if reason != nil {
		t.resigned.Store(true)
		t.lost(reason)
	}
}

// guarded is a transport on which only a leader may write.
type guarded struct {
	http.RoundTripper
	term *term
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := g.term.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	return g.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper lets client-go reach the transport below.
func (g guarded) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }
