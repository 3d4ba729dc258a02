package world

import (
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/ident"
	"reconcel/engine/queue"
)

// A Queue is a work queue in the time of a clock. Its Get does not block: do not call it while Len
// is 0.
type Queue struct {
	workqueue.TypedRateLimiter[ident.Request]
	clock   clock.PassiveClock
	ready   []ident.Request
	delayed []delayed // at most one for each request
}

type delayed struct {
	request ident.Request
	due     time.Time
}

// NewQueue returns an empty queue.
func NewQueue(c clock.PassiveClock) *Queue {
	return &Queue{TypedRateLimiter: queue.NewLimiter(evenly), clock: c}
}

// evenly is the random number that gives no jitter.
func evenly() float64 { return 0.5 }

// Add implements workqueue.TypedInterface.
func (q *Queue) Add(r ident.Request) {
	if !slices.Contains(q.ready, r) {
		q.ready = append(q.ready, r)
	}
}

// AddAfter implements workqueue.TypedDelayingInterface. The earliest of several delays counts.
func (q *Queue) AddAfter(r ident.Request, d time.Duration) {
	if d <= 0 {
		q.Add(r)
		return
	}
	due := q.clock.Now().Add(d)
	for i := range q.delayed {
		if other := &q.delayed[i]; other.request == r {
			if due.Before(other.due) {
				other.due = due
			}
			return
		}
	}
	q.delayed = append(q.delayed, delayed{r, due})
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *Queue) AddRateLimited(r ident.Request) { q.AddAfter(r, q.When(r)) }

// Len implements workqueue.TypedInterface.
func (q *Queue) Len() int { return len(q.ready) }

// Get implements workqueue.TypedInterface. It ends the delay of the request, as the queue of a
// process does.
func (q *Queue) Get() (ident.Request, bool) {
	r := q.ready[0]
	q.ready = q.ready[1:]
	q.delayed = slices.DeleteFunc(q.delayed, func(d delayed) bool { return d.request == r })
	return r, false
}

// sort puts what is ready in order.
func (q *Queue) sort() {
	slices.SortFunc(q.ready, func(a, b ident.Request) int { return strings.Compare(a.String(), b.String()) })
}

// Next returns the end of the next delay.
func (q *Queue) Next() (time.Time, bool) {
	var first time.Time
	for i := range q.delayed {
		if due := q.delayed[i].due; i == 0 || due.Before(first) {
			first = due
		}
	}
	return first, len(q.delayed) > 0
}

// Wake moves requests whose delay has ended to the ready ones.
func (q *Queue) Wake() {
	rest := q.delayed[:0]
	for _, d := range q.delayed {
		if d.due.After(q.clock.Now()) {
			rest = append(rest, d)
			continue
		}
		q.Add(d.request)
	}
	q.delayed = rest
}

// Done implements workqueue.TypedInterface.
func (q *Queue) Done(ident.Request) {}

// ShutDown implements workqueue.TypedInterface.
func (q *Queue) ShutDown() {}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *Queue) ShutDownWithDrain() {}

// ShuttingDown implements workqueue.TypedInterface.
func (q *Queue) ShuttingDown() bool { return false }
