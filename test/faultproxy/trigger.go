package faultproxy

import (
	"context"
	"sync"
	"time"
)

// Trigger decides which of the matching requests or events have a fault.
type Trigger struct {
	skip, times int
	lifted      chan struct{}
	lift        func()

	mu   sync.Mutex
	seen int // the number of matches
	hits int
	last time.Time // of the last hit
}

func newTrigger(skip, times int) *Trigger {
	t := &Trigger{skip: skip, times: times, lifted: make(chan struct{})}
	t.lift = sync.OnceFunc(func() { close(t.lifted) })
	return t
}

// Lift ends the fault.
func (t *Trigger) Lift() { t.lift() }

// Hits returns how many requests or events had the fault, and the time of the last one.
func (t *Trigger) Hits() (n int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hits, t.last
}

// active reports whether the fault is not lifted.
func (t *Trigger) active() bool {
	select {
	case <-t.lifted:
		return false
	default:
		return true
	}
}

// wait waits until the fault is lifted.
func (t *Trigger) wait(ctx context.Context) {
	select {
	case <-t.lifted:
	case <-ctx.Done():
	}
}

// strike counts a match, and reports whether it has the fault.
func (t *Trigger) strike() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen++
	if t.seen <= t.skip || t.times > 0 && t.hits >= t.times {
		return false
	}
	t.hits, t.last = t.hits+1, time.Now()
	return true
}
