package leader

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// leaseTrouble logs that this process may not read or write the Lease, or that
// its namespace does not exist: it can never lead, and client-go logs nothing.
type leaseTrouble struct {
	log *slog.Logger

	mu      sync.Mutex
	last    error     // why a request cannot succeed; nil: the Lease was written since
	at      time.Time // when it was
	since   time.Time // when the first of these requests was
	logged  bool
	written bool // this process could write the Lease once
}

// leasePatience is how long a denial must last before a process that could write
// the Lease logs it. An API server that has just restarted denies everything for
// some seconds. A process ends when it could not renew for renewDeadline.
const leasePatience = renewDeadline / 2

type leaseRequest int

const (
	reading leaseRequest = iota
	writing
)

// note records the result of a request, and logs a denial that lasts once.
func (t *leaseTrouble) note(what leaseRequest, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case isDenied(err), what == writing && apierrors.IsNotFound(err):
		now := time.Now()
		if t.last == nil {
			t.since = now
		}
		t.last, t.at = err, now
		if t.logged || t.written && now.Sub(t.since) < leasePatience {
			return
		}
		t.logged = true
		t.log.Warn("cannot acquire the Lease, will retry", "error", err,
			"hint", "grant what reconcel rbac prints for the Lease, or start the only process with --leader-elect=false")
	case err == nil && what == writing:
		t.last, t.logged, t.written = nil, false, true
	}
}

// isDenied reports whether a permission is missing. A namespace that is being
// deleted refuses new objects with the same code.
func isDenied(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// standing returns why this process cannot lead, or nil. A standby tries to acquire
// a free Lease every second or two. A denial that is older may have been resolved
// since, while another process leads.
func (t *leaseTrouble) standing() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || time.Since(t.at) > renewDeadline {
		return nil
	}
	return fmt.Errorf("cannot acquire the Lease: %w", t.last)
}
