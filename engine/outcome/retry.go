package outcome

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
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
type Problem struct{ text string }

// IsNews notes the result of an attempt, and reports whether it is an error that the attempt before did not have.
func (p *Problem) IsNews(err error) bool {
	before := p.text
	if p.text = ""; err != nil {
		p.text = err.Error()
	}
	return p.text != "" && p.text != before
}

// Jitter changes a delay by up to 20 % in both directions.
func Jitter(d time.Duration, random func() float64) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*random()))
}

// Sleep waits, or returns early if ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
