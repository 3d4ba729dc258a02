package engine

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// leaseTrouble tells people that this process may not read or write the Lease,
// or that its namespace does not exist, and so can never lead: client-go would
// say so to nobody.
type leaseTrouble struct {
	log *slog.Logger

	mu      sync.Mutex
	last    error     // why a request cannot succeed; nil: the Lease was written since
	at      time.Time // when it was
	since   time.Time // when the first of these requests was
	told    bool
	written bool // this process could write the Lease once
}

// leasePatience is how long a process that could write the Lease must have been denied
// that before people are told. An API server that has just restarted denies everything
// for some seconds. A process ends when it could not renew for renewDeadline.
const leasePatience = renewDeadline / 2

// A leaseRequest is what is done with the Lease.
type leaseRequest int

const (
	reading leaseRequest = iota
	writing
)

// note takes the result of a request. A denial that lasts is logged once.
func (t *leaseTrouble) note(what leaseRequest, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case isForbidden(err), what == writing && apierrors.IsNotFound(err):
		now := time.Now()
		if t.last == nil {
			t.since = now
		}
		t.last, t.at = err, now
		if t.told || t.written && now.Sub(t.since) < leasePatience {
			return
		}
		t.told = true
		t.log.Warn("cannot acquire the Lease, will retry", "error", err,
			"hint", "grant what reconcel rbac prints for the Lease, or start the only process with --leader-elect=false")
	case err == nil && what == writing:
		t.last, t.told, t.written = nil, false, true
	}
}

// standing returns why this process could not lead, or nil. Where the Lease is
// free it is tried for every second or two. What was forbidden longer ago may
// have been granted since, while another one leads.
func (t *leaseTrouble) standing() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || time.Since(t.at) > renewDeadline {
		return nil
	}
	return fmt.Errorf("cannot acquire the Lease: %w", t.last)
}
