package driver

import (
	"sync"
	"time"
)

// Foo is what the driver has last seen of a Foo. The zero value was never seen.
type Foo struct {
	Deleted   bool
	Available int32 // status.availableReplicas
}

// Child is what the driver has last seen of a Deployment. The zero value does not exist.
type Child struct {
	Exists     bool
	Generation int64
	Observed   int64 // status.observedGeneration
	Replicas   int32 // spec.replicas
	Available  int32 // status.availableReplicas
	Image      string
}

// ledger has the last state of every object, and the waits for other states. A Foo and its
// Deployment have the same name.
type ledger struct {
	now func() time.Time

	mu       sync.Mutex
	foos     map[string]Foo
	children map[string]Child
	waits    map[*Wait]bool
}

func newLedger(now func() time.Time) *ledger {
	return &ledger{now: now, foos: map[string]Foo{}, children: map[string]Child{}, waits: map[*Wait]bool{}}
}

// sawFoo records the state of a Foo.
func (l *ledger) sawFoo(name string, foo Foo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foos[name] = foo
	l.checkLocked(name)
}

// sawChild records the state of a Deployment.
func (l *ledger) sawChild(name string, child Child) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.children[name] = child
	l.checkLocked(name)
}

// state returns the last states of a Foo and its Deployment.
func (l *ledger) state(name string) (Foo, Child) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.foos[name], l.children[name]
}

func (l *ledger) checkLocked(name string) {
	for w := range l.waits {
		if w.check(name, l.foos[name], l.children[name], l.now()) {
			delete(l.waits, w)
		}
	}
}

// expect starts a wait until all named objects are as the goal says.
func (l *ledger) expect(names []string, goal Goal) *Wait {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := newWait(l, names, goal)
	l.waits[w] = true
	for _, name := range names {
		l.checkLocked(name)
	}
	return w
}

// missing returns what a wait still waits for.
func (l *ledger) missing(w *Wait) missing {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := missing{children: len(w.children), foos: len(w.foos)}
	for _, others := range []map[string]bool{w.children, w.foos} {
		for name := range others {
			m.example = max(m.example, name)
		}
	}
	return m
}

// forget ends a wait that has not reached its goal.
func (l *ledger) forget(w *Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waits, w)
}
