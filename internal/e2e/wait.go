package e2e

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what takes a second or two, or half a
// minute if the garbage collector has just met a new kind.
const Patience = 2 * time.Minute

// Eventually waits until check returns nil, and returns how long that took. After
// Patience it fails the test with the last error.
func (w *World) Eventually(what string, check func() error) time.Duration {
	w.Helper()
	return Eventually(w.T, what, Patience, check)
}

// Eventually waits until check returns nil, and returns how long that took. After
// the time within it fails the test with the last error.
func Eventually(t *testing.T, what string, within time.Duration, check func() error) time.Duration {
	t.Helper()
	return Poll(t, what, within, 50*time.Millisecond, check)
}

// Poll is Eventually with a pause of its own: the first one is at most 5 ms, and
// each is twice as long as the one before, up to longest.
func Poll(t *testing.T, what string, within, longest time.Duration, check func() error) time.Duration {
	t.Helper()
	started := time.Now()
	for pause := min(5*time.Millisecond, longest); ; pause = min(2*pause, longest) {
		err := check()
		if err == nil {
			return time.Since(started)
		}
		if time.Since(started) > within {
			t.Fatalf("waited %s for %s: %v", within, what, err)
		}
		Rest(t, pause)
	}
}

// Rest lets time pass in which nothing must happen: there is no condition to wait
// for.
func (w *World) Rest(d time.Duration) {
	w.Helper()
	Rest(w.T, d)
}

// Rest lets time pass in which nothing must happen.
func Rest(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
