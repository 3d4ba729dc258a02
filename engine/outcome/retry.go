package outcome

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/answer"
)

// Retry intervals for problems whose end sends no event to a watch.
const (
	ConflictRetry   = 5 * time.Second  // the deletion of a foreign object sends no event
	ForbiddenRetry  = 30 * time.Second // granting a permission sends no event
	RefusedRetry    = 2 * time.Minute
	TerminatingWait = 5 * time.Second
)

// While the cache is behind, a primary is reconciled again after as long as it has been behind,
// but at least StaleRetry and at most LongestStaleRetry later. Normally an event comes before.
const (
	StaleRetry        = 200 * time.Millisecond
	LongestStaleRetry = 5 * time.Second
)

// UnshownRetry is when to look again for an object that the cache does not show after
// its creation. If another writer deletes it while the watch lists again, no event says
// that it is missing.
const UnshownRetry = 2 * time.Second

// DeniedRetry is the first retry interval of a write without permission.
const DeniedRetry = 4 * time.Second

// RetryBackoff returns the delays of a failed step that belongs to no primary.
func RetryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
}

// A Problem is the last error of a task that is retried. The zero value is a task without one.
type Problem struct{ shape string }

// IsNews notes the result of an attempt, and reports whether it is an error that the attempt before did not have, see
// answer.Shape.
func (p *Problem) IsNews(err error) bool {
	before := p.shape
	if p.shape = ""; err != nil {
		p.shape = answer.Shape(err.Error())
	}
	return p.shape != "" && p.shape != before
}

// Delays of a failed request or write: 40 ms, doubled at each failure up to 24 seconds.
const (
	FirstRetry = 40 * time.Millisecond
	LastRetry  = 24 * time.Second
)

// Backoff returns the shortest delay after a failure that follows so many others, see Jitter.
func Backoff(before int) time.Duration {
	const most = 20 // Larger shifts would overflow.
	return shortest(min(LastRetry, FirstRetry<<min(before, most)))
}

// jitterRange is the largest part of a delay by which Jitter changes it.
const jitterRange = 0.2

func shortest(d time.Duration) time.Duration { return time.Duration(float64(d) * (1 - jitterRange)) }

// Jitter changes a delay by up to 20 % in both directions.
func Jitter(d time.Duration, random func() float64) time.Duration {
	return time.Duration(float64(d) * (1 - jitterRange + 2*jitterRange*random()))
}

// Sleep waits, or returns early if ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
