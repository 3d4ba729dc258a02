package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Monitor sees the requests of a process, and knows since when none of them succeeds.
// The zero value is ready for use.
type Monitor struct {
	mu      sync.Mutex
	success time.Time // when the last request succeeded
	since   time.Time // when the failures began; zero: the last request succeeded
	last    time.Time // when the last request failed
	cause   error     // of the last failure
}

// Wrap returns a transport that reports to the monitor. It must be outside of the wrappers that add
// credentials: these can fail, too.
func (m *Monitor) Wrap(next http.RoundTripper) http.RoundTripper { return &observed{next, m} }

// Metric returns how long no request has succeeded.
func (m *Monitor) Metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reconcel_api_unreachable_seconds",
		Help: "Time since requests to the API server began to fail by network, TLS or identity; 0 if the last one succeeded.",
	}, func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.since.IsZero() {
			return 0
		}
		return time.Since(m.since).Seconds()
	})
}

// An UnreachableError says that no request has succeeded for a while.
type UnreachableError struct {
	For   time.Duration
	Cause error // of the last failure
}

// Error implements error.
func (e UnreachableError) Error() string {
	return fmt.Sprintf("no request to the API server has succeeded for %s: %s", e.For.Round(time.Second), e.Cause)
}

// Unwrap returns the cause of the last failure.
func (e UnreachableError) Unwrap() error { return e.Cause }

// Unreachable returns an UnreachableError if the failures go on for at least this long, or nil. The
// time counts from the first failure to the last one, so it takes at least two requests: one that
// failed, with none after it, proves little.
func (m *Monitor) Unreachable(atLeast time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() || m.last.Sub(m.since) < atLeast {
		return nil
	}
	return UnreachableError{time.Since(m.since), m.cause}
}

// note records the result of a request.
func (m *Monitor) note(began time.Time, cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if cause == nil {
		m.success, m.since, m.cause = now, time.Time{}, nil
		return
	}
	if m.since.IsZero() {
		m.since = began
		if m.success.After(began) { // Other requests succeeded while this one waited.
			m.since = m.success
		}
	}
	m.last, m.cause = now, cause
}

type observed struct {
	next    http.RoundTripper
	monitor *Monitor
}

// RoundTrip implements http.RoundTripper.
func (o *observed) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := o.next.RoundTrip(r)
	switch {
	case err != nil && errors.Is(r.Context().Err(), context.Canceled): // The caller did not wait for it.
	case err != nil:
		o.monitor.note(began, err)
	case response.StatusCode == http.StatusUnauthorized:
		o.monitor.note(began, errUnauthorized)
	default:
		o.monitor.note(began, nil)
	}
	return response, err
}

var errUnauthorized = errors.New("401 Unauthorized: the API server does not accept the credentials of this process")

// WrappedRoundTripper lets client-go find the transport.
func (o *observed) WrappedRoundTripper() http.RoundTripper { return o.next }
