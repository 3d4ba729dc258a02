package engine

import (
	"context"
	"time"
)

// How long until a look at what cannot heal by an event of ours.
const (
	conflictRetry   = 5 * time.Second  // a foreign object's end sends us no event
	forbiddenRetry  = 30 * time.Second // nor does the grant of a permission
	refusedRetry    = 2 * time.Minute
	terminatingWait = 5 * time.Second
)

const staleRetry = 200 * time.Millisecond

// deniedRetry is how long until a write that was denied is sent again at first.
const deniedRetry = 4 * time.Second

// jitter spreads a delay by 20 % in both directions.
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
