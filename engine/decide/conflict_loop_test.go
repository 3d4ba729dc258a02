package decide

import (
	"slices"
	"testing"
	"time"

	"reconcel/engine/outcome"
)

// duel lets two writers undo each other's change for a while, each as soon as its
// conflict loop allows it. It returns the times of the writes.
func duel(a, b *conflictLoop, length time.Duration) (writes []time.Duration) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	now, turn := start, []*conflictLoop{a, b}
	for i := 0; ; i++ {
		c := turn[i%2]
		now = now.Add(5 * time.Millisecond) // The writer must see the other's write first.
		for wait := c.repair(now); wait > 0; wait = c.repair(now) {
			now = now.Add(wait)
		}
		if now.Sub(start) >= length {
			return writes
		}
		writes = append(writes, now.Sub(start))
	}
}

func between(writes []time.Duration, from, to time.Duration) (n int) {
	for _, at := range writes {
		if from <= at && at < to {
			n++
		}
	}
	return n
}

// TestDuel checks the promised limits for two writers that restore the same object:
// together at most 30 writes in the first minute and about two a minute later.
func TestDuel(t *testing.T) {
	for name, by := range map[string][2]outcome.Culprit{
		"another writer with the same delays": {},
		"two reconcels":                       {{Installation: "a/b", Insists: true}, {Installation: "c/d"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := &conflictLoop{By: by[0]}, &conflictLoop{By: by[1]}
			writes := duel(a, b, 11*time.Minute)
			if n := between(writes, 0, time.Minute); n > 30 {
				t.Errorf("%d writes in the first minute: %v", n, writes)
			}
			if n := between(writes, time.Minute, 11*time.Minute); n > 23 || n < 18 {
				t.Errorf("%d writes in ten minutes: %v", n, writes)
			}
		})
	}
}

// TestConflictLoopEnds stops one of two writers at each moment. Within a minute, the other one
// has restored the object and its conflict loop has ended.
func TestConflictLoopEnds(t *testing.T) {
	for name, by := range map[string]outcome.Culprit{
		"even": {}, "yields": {Installation: "a/b", Insists: true}, "insists": {Installation: "c/d"},
	} {
		t.Run(name, func(t *testing.T) {
			c, now := &conflictLoop{By: by}, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			for range 20 {
				for wait := c.repair(now); wait > 0; wait = c.repair(now) {
					now = now.Add(wait)
				}
				if c.Repairs > FreeRepairs && c.Standing(now) == 0 {
					t.Fatalf("it is over with repair %d", c.Repairs)
				}
				now = now.Add(time.Millisecond)
			}
			stopped := now // It has just changed the object once more.
			for wait := c.repair(now); wait > 0; wait = c.repair(now) {
				now = now.Add(wait)
			}
			if end := now.Add(c.Standing(now)).Sub(stopped); end > time.Minute {
				t.Errorf("it ends after %s", end)
			}
			later := now.Add(conflictMemory + time.Second)
			if wait := c.repair(later); wait != 0 || c.Repairs != 1 {
				t.Errorf("a change long after the end waits %s, repair %d", wait, c.Repairs)
			}
		})
	}
}

// TestRareEditsAreUndoneAtOnce edits an object now and then, which is no conflict loop.
func TestRareEditsAreUndoneAtOnce(t *testing.T) {
	c, now := &conflictLoop{}, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 50 {
		if wait := c.repair(now); wait != 0 {
			t.Fatalf("it waits %s", wait)
		}
		now = now.Add(2 * time.Minute)
	}
	if (*conflictLoop)(nil).Standing(now) != 0 || c.Standing(now) != 0 {
		t.Error("there is a contest")
	}
}

// TestChurnSlowsDown changes a rendering as often as it may, and then stops.
func TestChurnSlowsDown(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c, changes := &churn{}, []int{}
	for range 5 {
		n := 0
		for wait := c.change(now); wait == 0; wait = c.change(now) {
			n, now = n+1, now.Add(5*time.Millisecond)
		}
		changes = append(changes, n)
		now = now.Add(c.change(now))
	}
	if want := []int{100, 6, 1, 1, 1}; !slices.Equal(changes, want) {
		t.Errorf("changes in each window: %v, want %v", changes, want)
	}
	if c.Standing(now) == 0 {
		t.Error("it is over at once")
	}
	if now = now.Add(2 * churnWindow); c.Standing(now) != 0 || c.change(now) != 0 || c.Standing(now) != 0 {
		t.Error("it never ends")
	}
}
