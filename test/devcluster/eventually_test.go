//go:build integration

package devcluster

import (
	"testing"
	"time"
)

// Eventually waits until check returns nil.
func Eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		missing := check()
		if missing == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("after a minute: %v", missing)
		case <-ticker.C:
		}
	}
}
