package driver

import (
	"context"
	"fmt"
	"time"
)

// Goal is a state to wait for.
type Goal struct {
	Child func(Child) bool
	Foo   func(Foo) bool
}

// Scaled is the state in which every Deployment has this many replicas, and every Foo
// reports that they are available.
func Scaled(replicas int32) Goal {
	return Goal{
		Child: func(c Child) bool { return c.Exists && c.Replicas == replicas },
		Foo:   func(f Foo) bool { return !f.Deleted && f.Available == replicas },
	}
}

// Gone is the state in which the Foos and the Deployments are deleted.
func Gone() Goal {
	return Goal{
		Child: func(c Child) bool { return !c.Exists },
		Foo:   func(f Foo) bool { return f.Deleted },
	}
}

// Exists is the state in which every Deployment has this many replicas. It is for
// Deployments that do not have the name of their Foo.
func Exists(replicas int32) Goal {
	return Goal{Child: Scaled(replicas).Child, Foo: func(Foo) bool { return true }}
}

// Runs is the state in which every Deployment has this image.
func Runs(image string) Goal {
	return Goal{
		Child: func(c Child) bool { return c.Exists && c.Image == image },
		Foo:   func(Foo) bool { return true },
	}
}

// Reached is when a goal was reached.
type Reached struct {
	First    time.Time // by the first Deployment
	Children time.Time // by the last Deployment
	Statuses time.Time // by the last Foo
}

// Wait is a wait for a goal. The lock of the ledger guards it until done is closed.
type Wait struct {
	ledger   *ledger
	goal     Goal
	awaited  map[string]bool
	children map[string]bool // Deployments that are not as wanted
	foos     map[string]bool // Foos that are not as wanted
	reached  Reached
	done     chan struct{} // closed when the goal is reached
}

func newWait(l *ledger, names []string, goal Goal) *Wait {
	w := &Wait{ledger: l, goal: goal, done: make(chan struct{}),
		awaited: map[string]bool{}, children: map[string]bool{}, foos: map[string]bool{}}
	for _, name := range names {
		w.awaited[name], w.children[name], w.foos[name] = true, true, true
	}
	return w
}

// check records the states of an object, and reports whether the goal is reached. Until
// then, an object that is as wanted may cease to be so.
func (w *Wait) check(name string, foo Foo, child Child, now time.Time) bool {
	if !w.awaited[name] {
		return false
	}
	before := len(w.children)
	mark(w.children, name, w.goal.Child(child), &w.reached.Children, now)
	if w.reached.First.IsZero() && len(w.children) < before {
		w.reached.First = now
	}
	mark(w.foos, name, w.goal.Foo(foo), &w.reached.Statuses, now)
	if len(w.children)+len(w.foos) > 0 {
		return false
	}
	close(w.done)
	return true
}

// mark updates the set of objects that are not as wanted, and the time of its last change.
func mark(others map[string]bool, name string, asWanted bool, changed *time.Time, now time.Time) {
	if asWanted != others[name] {
		return // Nothing has changed.
	}
	*changed = now
	if asWanted {
		delete(others, name)
	} else {
		others[name] = true
	}
}

// stallTimeout is longer than a controller and its driver ever need for one more object.
const stallTimeout = 5 * time.Minute

// Until waits for the goal. It fails with the cause of ctx when ctx ends, and when no
// object became as wanted for 5 minutes.
func (w *Wait) Until(ctx context.Context) (Reached, error) {
	ticker := time.NewTicker(stallTimeout)
	defer ticker.Stop()
	for before := w.ledger.missing(w); ; {
		select {
		case <-w.done:
			return w.reached, nil
		case <-ctx.Done():
			w.ledger.forget(w)
			return Reached{}, context.Cause(ctx)
		case <-ticker.C:
		}
		now := w.ledger.missing(w)
		if now.children+now.foos >= before.children+before.foos {
			w.ledger.forget(w)
			return Reached{}, fmt.Errorf("%s: nothing has changed for %s", now, stallTimeout)
		}
		before = now
	}
}

// missing is what is not as wanted.
type missing struct {
	children, foos int
	example        string // the name of one of them
}

// String implements fmt.Stringer.
func (m missing) String() string {
	return fmt.Sprintf("%d Deployments and %d Foos, such as %s, are not as wanted", m.children, m.foos, m.example)
}
