package engine

import (
	"fmt"
	"time"
)

// Somebody else may insist on a field of ours: another controller, an
// autoscaler, a second reconcel. Each answer would follow within milliseconds,
// for ever. So one child is repaired a few times in a while, and then only
// when the while is over.
const (
	contestWindow = 30 * time.Second
	mostRepairs   = 10
	// mostChanges is for what follows something else, and may have to change
	// often for a while: the count of Pods that are being made, say.
	mostChanges = 100
)

// A contest counts the repairs of one child.
type contest struct {
	since   time.Time
	repairs int
}

// repair counts one repair, and returns how long to wait with it.
func (c *contest) repair(now time.Time) time.Duration { return c.count(now, mostRepairs) }

// change counts one change of what is written, and returns how long to wait
// with it.
func (c *contest) change(now time.Time) time.Duration { return c.count(now, mostChanges) }

func (c *contest) count(now time.Time, most int) time.Duration {
	if now.Sub(c.since) > contestWindow {
		*c = contest{since: now}
	}
	if c.repairs >= most {
		return c.since.Add(contestWindow).Sub(now)
	}
	c.repairs++
	return 0
}

// A contestedError says that a child is changed as often as it is repaired.
type contestedError struct {
	object string // Kind/namespace/name
	wait   time.Duration
}

func (e *contestedError) Error() string {
	return fmt.Sprintf("somebody changes %s as often as it is repaired: it is repaired more slowly now; take the field out of the template, or stop the other writer", e.object)
}
