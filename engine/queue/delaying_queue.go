package queue

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/access"
	"reconcel/engine/ident"
)

// A delayingQueue is a queue to which requests can be added later. A request has one delay:
// the earliest counts. Get ends the delay of a request, because its reconciliation asks for a new
// one: the process does not wake to look again at what an event has shown since. Most
// reconciliations ask for the same delay, so such a call must be cheap: client-go's delaying queue
// wakes a goroutine and makes a timer for each.
type delayingQueue struct {
	workqueue.TypedInterface[ident.Request]
	clock access.Clock

	mu     sync.Mutex
	of     map[ident.Request]*delay
	sorted delays
	timer  clock.Timer // runs until the earliest delay ends; nil before the first one
}

// A delay is when a request is added to the queue.
type delay struct {
	request ident.Request
	at      time.Time
	ended   bool // before its time; the next AddAfter begins it again
	index   int  // in the heap
}

func newDelayingQueue(q workqueue.TypedInterface[ident.Request], c access.Clock) *delayingQueue {
	return &delayingQueue{TypedInterface: q, clock: c, of: map[ident.Request]*delay{}}
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *delayingQueue) AddAfter(r ident.Request, after time.Duration) {
	if after <= 0 {
		q.Add(r)
		return
	}
	at := q.clock.Now().Add(after)
	q.mu.Lock()
	defer q.mu.Unlock()
	var first *delay
	if len(q.sorted) > 0 {
		first = q.sorted[0]
	}
	switch d := q.of[r]; {
	case q.ShuttingDown() || d != nil && !d.ended && !at.Before(d.at):
		return
	case d == nil:
		d = &delay{request: r, at: at}
		q.of[r] = d
		heap.Push(&q.sorted, d)
	default:
		d.at, d.ended = at, false
		heap.Fix(&q.sorted, d.index)
	}
	if now := q.sorted[0]; now != first || now.request == r {
		q.wakeLocked()
	}
}

// Get implements workqueue.TypedInterface.
func (q *delayingQueue) Get() (r ident.Request, shutdown bool) {
	r, shutdown = q.TypedInterface.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	if d := q.of[r]; d != nil {
		d.ended = true
	}
	return r, shutdown
}

// wakeLocked sets the timer to the end of the earliest delay.
func (q *delayingQueue) wakeLocked() {
	rest := q.sorted[0].at.Sub(q.clock.Now())
	if q.timer == nil {
		q.timer = q.clock.AfterFunc(rest, q.addDue)
		return
	}
	q.timer.Reset(rest)
}

// addDue adds the requests whose delays have ended.
func (q *delayingQueue) addDue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for now := q.clock.Now(); len(q.sorted) > 0 && !q.sorted[0].at.After(now); {
		d := heap.Pop(&q.sorted).(*delay)
		delete(q.of, d.request)
		if !d.ended {
			q.Add(d.request)
		}
	}
	if len(q.sorted) > 0 && !q.ShuttingDown() {
		q.wakeLocked()
	}
}

// ShutDown implements workqueue.TypedInterface. Requests that are delayed are dropped.
func (q *delayingQueue) ShutDown() {
	q.TypedInterface.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}

// delays is a heap: the first one ends first.
type delays []*delay

// Len implements heap.Interface.
func (ds delays) Len() int { return len(ds) }

// Less implements heap.Interface.
func (ds delays) Less(i, j int) bool { return ds[i].at.Before(ds[j].at) }

// Swap implements heap.Interface.
func (ds delays) Swap(i, j int) {
	ds[i], ds[j] = ds[j], ds[i]
	ds[i].index, ds[j].index = i, j
}

// Push implements heap.Interface.
func (ds *delays) Push(x any) {
	d := x.(*delay)
	d.index = len(*ds)
	*ds = append(*ds, d)
}

// Pop implements heap.Interface.
func (ds *delays) Pop() any {
	last := len(*ds) - 1
	d := (*ds)[last]
	(*ds)[last] = nil
	*ds = (*ds)[:last]
	return d
}
