package dev

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// A Clock is the time of the machine, moved ahead by Move. Its timers move along.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
	armed map[*timer]time.Time // running timers, and when they end
}

// NewClock returns a clock that shows the time of the machine.
func NewClock() *Clock { return &Clock{armed: map[*timer]time.Time{}} }

// Move moves the clock ahead, by up to 292 years in all. Timers that end in this time end now.
func (c *Clock) Move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += min(by, math.MaxInt64-c.ahead)
	for t, at := range c.armed {
		t.real.Reset(at.Sub(c.nowLocked()))
	}
}

// Next returns how long no timer ends, at most limit.
func (c *Clock) Next(limit time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.armed {
		limit = min(limit, at.Sub(c.nowLocked()))
	}
	return limit
}

func (c *Clock) nowLocked() time.Time { return time.Now().Add(c.ahead) }

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nowLocked()
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// NewTimer returns a timer with a channel.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	ended := make(chan time.Time, 1)
	return c.start(&timer{clock: c, c: ended, do: func() {
		select {
		case ended <- c.Now():
		default:
		}
	}}, d)
}

// AfterFunc calls a function after a duration.
func (c *Clock) AfterFunc(d time.Duration, do func()) clock.Timer {
	return c.start(&timer{clock: c, do: do}, d)
}

func (c *Clock) start(t *timer, d time.Duration) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[t] = c.nowLocked().Add(d)
	t.real = time.AfterFunc(d, t.end)
	return t
}

// A timer is a timer of a Clock.
type timer struct {
	clock *Clock
	real  *time.Timer
	c     chan time.Time
	do    func()
}

// end runs when the timer of the machine ends.
func (t *timer) end() {
	t.clock.mu.Lock()
	at, armed := t.clock.armed[t]
	rest := at.Sub(t.clock.nowLocked())
	ended := armed && rest <= 0
	switch {
	case ended:
		delete(t.clock.armed, t)
	case armed: // It was reset meanwhile.
		t.real.Reset(rest)
	}
	t.clock.mu.Unlock()
	if ended {
		t.do()
	}
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.c }

// Stop implements clock.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, armed := t.clock.armed[t]
	delete(t.clock.armed, t)
	t.real.Stop()
	return armed
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, armed := t.clock.armed[t]
	t.clock.armed[t] = t.clock.nowLocked().Add(d)
	t.real.Reset(d)
	return armed
}
