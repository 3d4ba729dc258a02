package engine

import (
	"fmt"
	"time"
)

// Somebody else may insist on a field of ours: another controller, an
// autoscaler, a second reconcel. Each answer would follow within milliseconds,
// for ever. So what is ours is restored a few times at once, and then more and
// more slowly: a while after the change was seen, so that two that do the same
// write twice a minute together.
const (
	freeRepairs   = 10
	firstDamping  = 4 * time.Second // doubled with each repair
	contestPeriod = 57 * time.Second
	// Of two reconcels one waits for most of the period and the other for hardly
	// any of it, so that the object does not go back and forth.
	yieldingWait  = contestPeriod - insistingWait
	insistingWait = 500 * time.Millisecond
	evenWait      = contestPeriod / 2
	contestMargin = 2500 * time.Millisecond
	// A count begins again only after a longer time: one of the two may be slow.
	contestMemory = 2 * contestPeriod
)

// A contest counts how often one object was restored, and since when it is to
// be restored again.
type contest struct {
	repairs int
	at      time.Time // of the last repair
	seen    time.Time // when it was seen to be needed again; zero: it is not
	by      culprit   // who made the last one necessary
}

// repair counts one repair, and returns how long to wait with it.
func (c *contest) repair(now time.Time) (wait time.Duration) {
	if c.repairs > 0 && c.seen.IsZero() && now.Sub(c.at) > contestMemory {
		*c = contest{}
	}
	if c.repairs >= freeRepairs {
		if c.seen.IsZero() {
			c.seen = now
		}
		if wait = c.seen.Add(c.damping()).Sub(now); wait > 0 {
			return wait
		}
	}
	c.repairs, c.at, c.seen = c.repairs+1, now, time.Time{}
	return 0
}

// longest is how long a repair waits at most.
func (c *contest) longest() time.Duration {
	switch {
	case c.by.installation == "":
		return evenWait
	case c.by.insists:
		return yieldingWait
	}
	return insistingWait
}

func (c *contest) damping() time.Duration {
	const most = 10 // More would overflow in the end.
	return min(c.longest(), firstDamping<<min(c.repairs-freeRepairs, most))
}

// calm is how long after a repair nobody must have changed anything for the
// contest to be over.
func (c *contest) calm() time.Duration { return contestPeriod - c.longest() + contestMargin }

// standing returns how long until the contest over an object that is as it should
// be is over if nobody changes anything, or 0 if there is none.
func (c *contest) standing(now time.Time) time.Duration {
	if c == nil || c.repairs <= freeRepairs {
		return 0
	}
	if !c.seen.IsZero() { // It was put right without us.
		c.at, c.seen = now, time.Time{}
	}
	return max(0, c.at.Add(c.calm()).Sub(now))
}

// What is written may have to change often for a while: the count of Pods that
// are being made, say. Nothing changes as often for long.
const (
	churnWindow = 30 * time.Second
	mostChanges = 100
)

// A churn counts the changes of what is written to one object.
type churn struct {
	since   time.Time
	changes int
}

// change counts one change, and returns how long to wait with it.
func (c *churn) change(now time.Time) (wait time.Duration) {
	if now.Sub(c.since) > churnWindow {
		*c = churn{since: now}
	}
	if c.changes >= mostChanges {
		return c.since.Add(churnWindow).Sub(now)
	}
	c.changes++
	return 0
}

// A contestedError says that an object is changed as often as it is restored.
type contestedError struct {
	object string // Kind/namespace/name
	by     string // who changes what; "": what is rendered changes
	wait   time.Duration
}

// Error says who changes what, and what can be done about it.
func (e *contestedError) Error() string {
	if e.by == "" {
		return e.object + " is rendered differently each time; applying it more slowly. Check what its template reads"
	}
	return fmt.Sprintf("%s: %s each time reconcel restores it; stop that writer, or add the field to ignoreFields", e.object, e.by)
}
