package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
)

// A missingJudge takes the error of a search for a kind. It reports whether the kind
// is gone with all its objects, and otherwise returns the error. An API server that
// starts, lags behind or has lost a backend lacks kinds whose objects exist.
type missingJudge func(ctx context.Context, gk schema.GroupKind, err error) (gone bool, _ error)

const (
	// goneAfter is how long discovery must lack a kind before it counts as gone.
	goneAfter = 5 * time.Minute
	// absenceGap is how long a kind may go unsearched without its absence counting
	// from the start again. Every search is repeated within a minute.
	absenceGap = 2 * time.Minute
)

// judgeByTime returns the judge of a running process, which may not read CRDs.
func judgeByTime(c clock.PassiveClock) missingJudge {
	type absence struct{ since, last time.Time }
	var mu sync.Mutex
	missing := map[schema.GroupKind]absence{}
	return func(_ context.Context, gk schema.GroupKind, err error) (gone bool, _ error) {
		mu.Lock()
		defer mu.Unlock()
		if !discover.IsNoKind(err) {
			delete(missing, gk)
			return false, err
		}
		now := c.Now()
		a, known := missing[gk]
		if !known || now.Sub(a.last) > absenceGap {
			a.since = now
		}
		a.last = now
		missing[gk] = a
		if now.Sub(a.since) >= goneAfter {
			return true, nil
		}
		return false, fmt.Errorf("kind %s is not served now; its objects count as gone when it is missing for %s (%w)", gk, goneAfter, err)
	}
}
