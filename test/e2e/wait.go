package e2e

import (
	"testing"
	"time"
)

// Patience is how long a test waits for a condition that usually takes a second or two.
// It takes half a minute if the garbage collector must discover a new kind.
const Patience = 2 * time.Minute

// Eventually waits until check returns nil, and returns the duration. After Patience it
// fails the test with the last error.
func (w *World) Eventually(what string, check func() error) time.Duration {
	w.Helper()
	return Eventually(w.T, what, Patience, check)
}

// Eventually waits until check returns nil, and returns the duration. After the time
// limit within, it fails the test with the last error.
func Eventually(t *testing.T, what string, within time.Duration, check func() error) time.Duration {
	t.Helper()
	return Poll(t, what, within, 50*time.Millisecond, check)
}

// Poll is Eventually with custom pauses. The first pause is at most 5 ms, and each pause
// is twice as long as the previous one, up to longest.
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

// Rest waits while nothing must happen, because there is no condition to wait for.
func (w *World) Rest(d time.Duration) {
	w.Helper()
	Rest(w.T, d)
}

// Rest waits while nothing must happen.
func Rest(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
