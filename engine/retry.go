package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Retry intervals for problems whose end sends no event to a watch.
const (
	conflictRetry   = 5 * time.Second  // the deletion of a foreign object sends no event
	forbiddenRetry  = 30 * time.Second // granting a permission sends no event
	refusedRetry    = 2 * time.Minute
	terminatingWait = 5 * time.Second
)

// While the cache is behind, a primary is reconciled again after as long as it has been behind,
// but at least staleRetry and at most longestStaleRetry later. Normally an event comes before.
const (
	staleRetry        = 200 * time.Millisecond
	longestStaleRetry = 5 * time.Second
)

// unshownRetry is when to look again for an object that the cache does not show after
// its creation. If another writer deletes it while the watch lists again, no event says
// that it is missing.
const unshownRetry = 2 * time.Second

// deniedRetry is the first retry interval of a write without permission.
const deniedRetry = 4 * time.Second

// retryBackoff returns the delays of a failed step that belongs to no primary.
func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
}

// jitter changes a delay by up to 20 % in both directions.
func jitter(d time.Duration, random func() float64) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*random()))
}

// sleep waits, or returns early if ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
