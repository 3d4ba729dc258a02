package decide

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/outcome"
	"reconcel/rules"
)

// Another writer may insist on a field of ours: another controller, an autoscaler,
// a second reconcel. Each repair would follow within milliseconds, forever. So the
// first repairs are immediate, and later ones are delayed more and more. The delay
// counts from the change, so that two equal opponents together write twice a minute.
const (
	FreeRepairs    = 10
	firstDamping   = 4 * time.Second // doubled with each repair
	conflictPeriod = 57 * time.Second
	// Of two reconcel installations, one waits for most of the period and the other
	// for hardly any of it, so that the object does not flap.
	yieldingWait   = conflictPeriod - insistingWait
	insistingWait  = 500 * time.Millisecond
	evenWait       = conflictPeriod / 2
	conflictMargin = 2500 * time.Millisecond
	// The count restarts only after a longer time: one of the two may be slow.
	conflictMemory = 2 * conflictPeriod
)

// A conflictLoop counts the repairs of one object, and when the next one became
// necessary.
type conflictLoop struct {
	Repairs int
	at      time.Time       // of the last repair
	Seen    time.Time       // when the next repair became necessary; zero if none is
	By      outcome.Culprit // who made the last repair necessary
}

// repair counts one repair, and returns how long to delay it.
func (c *conflictLoop) repair(now time.Time) (wait time.Duration) {
	if c.Repairs > 0 && c.Seen.IsZero() && now.Sub(c.at) > conflictMemory {
		*c = conflictLoop{}
	}
	if c.Repairs >= FreeRepairs {
		if c.Seen.IsZero() {
			c.Seen = now
		}
		if wait = c.Seen.Add(c.damping()).Sub(now); wait > 0 {
			return wait
		}
	}
	c.Repairs, c.at, c.Seen = c.Repairs+1, now, time.Time{}
	return 0
}

// longest returns the maximum delay of a repair.
func (c *conflictLoop) longest() time.Duration {
	switch {
	case c.By.Installation == "":
		return evenWait
	case c.By.Insists:
		return yieldingWait
	}
	return insistingWait
}

func (c *conflictLoop) damping() time.Duration {
	const most = 10 // Larger shifts would overflow.
	return min(c.longest(), firstDamping<<min(c.Repairs-FreeRepairs, most))
}

// calm is how long an object must stay unchanged after a repair before the conflict
// loop is over.
func (c *conflictLoop) calm() time.Duration { return conflictPeriod - c.longest() + conflictMargin }

// Standing returns how long until the conflict loop over an object without drift is
// over if no writer changes the object. It returns 0 if there is no conflict loop.
func (c *conflictLoop) Standing(now time.Time) time.Duration {
	if c == nil || c.Repairs <= FreeRepairs {
		return 0
	}
	if !c.Seen.IsZero() { // Another writer restored it.
		c.at, c.Seen = now, time.Time{}
	}
	return max(0, c.at.Add(c.calm()).Sub(now))
}

// Rendered values may change often for a while, such as the number of Pods during
// a rollout. Nothing legitimate changes that often for long: each window that is used up
// makes the next one smaller, down to one change.
const (
	churnWindow = 30 * time.Second
	mostChanges = 100
)

// A churn counts the changes of one object's rendering.
type churn struct {
	since   time.Time
	changes int
	full    int // windows in a row that were used up
}

// change counts one change, and returns how long to delay it.
func (c *churn) change(now time.Time) (wait time.Duration) {
	if passed := now.Sub(c.since); passed > churnWindow {
		full := 0
		if c.changes >= c.most() && passed <= 2*churnWindow {
			full = c.full + 1
		}
		*c = churn{since: now, full: full}
	}
	if c.changes >= c.most() {
		return c.since.Add(churnWindow).Sub(now) + 1 // The next window has begun then.
	}
	c.changes++
	return 0
}

// Standing returns how long until the rendering counts as quiet if it changes no more. It returns 0 if no
// window was used up.
func (c *churn) Standing(now time.Time) time.Duration {
	if c == nil || c.full == 0 {
		return 0
	}
	return max(0, c.since.Add(2*churnWindow).Sub(now))
}

// most returns how many changes the window has.
func (c *churn) most() int { return max(1, mostChanges>>min(4*c.full, 8)) }

// A Damper counts the writes of one object, in order to delay those that repeat.
type Damper struct {
	Loop  *conflictLoop // with another writer; nil: never restored
	Churn *churn        // of the rendering; nil: it never changed
}

// Change counts one change of the rendering, and returns how long to delay it. Like repair,
// it keeps the count of a copy.
func (d *Damper) Change(now time.Time) (wait time.Duration) {
	c := &churn{}
	if d.Churn != nil {
		*c = *d.Churn
	}
	d.Churn = c
	return c.change(now)
}

// Repair counts one repair, and returns how long to delay it. It replaces the
// conflict loop, so that a copy of the damper keeps the count from before.
func (d *Damper) Repair(now time.Time) (wait time.Duration) {
	loop := &conflictLoop{}
	if d.Loop != nil {
		*loop = *d.Loop
	}
	d.Loop = loop
	return loop.repair(now)
}

// Uncount takes a count back if the write failed because the cache is behind: the
// API server wrote nothing, so there was nothing for another writer to undo. Nor is there
// if admission undoes a write, which is then repeated like a rejected one.
func (d *Damper) Uncount(before Damper, err error) {
	_, undone := errors.AsType[*StrippedError](err)
	if errors.Is(err, ErrStale) || apierrors.IsConflict(err) || undone {
		*d = before
	}
}

// A ConflictLoopError means that an object is changed as often as it is restored.
type ConflictLoopError struct {
	Object string // Kind/namespace/name
	By     string // who changes which fields, or deletes the object; empty if the rendering changes
	Wait   time.Duration

	Remedy  string // "": that of a child
	Reads   string // what the expressions read that changes with each write; "": not known
	deleted bool
}

// Error names the writer, the fields and the remedy.
func (e *ConflictLoopError) Error() string {
	if e.By == "" {
		return e.Object + " is rendered differently each time, so reconcel applies it more and more slowly; " +
			cmp.Or(e.Reads, "check what its template reads")
	}
	if e.deleted {
		return fmt.Sprintf("%s: %s each time reconcel creates it; stop that writer", e.Object, e.By)
	}
	return fmt.Sprintf("%s: %s each time reconcel restores it; %s", e.Object, e.By,
		cmp.Or(e.Remedy, "stop that writer, or add the field to ignoreFields"))
}

// Wait returns the error of a write of an object that has to wait.
func (c *conflictLoop) Wait(d *rules.Desired, wait time.Duration) error {
	return &ConflictLoopError{Object: d.Identity.String(), By: c.By.String(), deleted: c.By.Deletes, Wait: wait}
}
