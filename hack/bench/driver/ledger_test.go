package driver

import (
	"context"
	"errors"
	"testing"
	"time"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// at returns the time of a second of the test.
func at(second int) time.Time { return time.Unix(int64(second), 0) }

func isDone(w *Wait) bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func TestGoalIsReachedByTheLastOfAll(t *testing.T) {
	c := &clock{}
	l := newLedger(c.now)
	c.at = at(1)
	w := l.expect([]string{"a", "b"}, Scaled(2))
	steps := []func(){
		func() { l.sawChild("a", Child{Exists: true, Replicas: 2}) }, // 2: the first child
		func() { l.sawFoo("a", Foo{Available: 2}) },
		func() { l.sawChild("b", Child{Exists: true, Replicas: 1}) }, // 4: not as wanted
		func() { l.sawFoo("other", Foo{Available: 2}) },              // 5: not awaited
		func() { l.sawChild("b", Child{Exists: true, Replicas: 2}) }, // 6: the last child
		func() { l.sawFoo("b", Foo{Available: 1}) },
		func() { l.sawFoo("b", Foo{Available: 2}) }, // 8: the last status
	}
	for i, step := range steps {
		if isDone(w) {
			t.Fatalf("the goal is reached before step %d", i)
		}
		c.at = at(i + 2)
		step()
	}
	c.at = at(100)
	l.sawChild("a", Child{}) // It comes too late to count.
	reached, err := w.Until(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (Reached{First: at(2), Children: at(6), Statuses: at(8)}); reached != want {
		t.Errorf("got %v, want %v", reached, want)
	}
	if len(l.waits) != 0 {
		t.Errorf("%d waits are left", len(l.waits))
	}
}

func TestChildThatCeasesToBeAsWantedIsAwaitedAgain(t *testing.T) {
	c := &clock{at: at(1)}
	l := newLedger(c.now)
	w := l.expect([]string{"a", "b"}, Runs("new"))
	c.at = at(2)
	l.sawChild("a", Child{Exists: true, Image: "new"})
	c.at = at(3)
	l.sawChild("a", Child{Exists: true, Image: "old"})
	c.at = at(4)
	l.sawChild("b", Child{Exists: true, Image: "new"})
	if isDone(w) {
		t.Fatal("the goal is reached without a")
	}
	c.at = at(5)
	l.sawChild("a", Child{Exists: true, Image: "new"})
	reached, err := w.Until(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reached.First.Equal(at(2)) || !reached.Children.Equal(at(5)) {
		t.Errorf("got %v, want the first at 2 and the last at 5", reached)
	}
}

func TestGoalThatIsReachedAlready(t *testing.T) {
	c := &clock{at: at(1)}
	l := newLedger(c.now)
	l.sawFoo("a", Foo{Deleted: true})
	c.at = at(2)
	reached, err := l.expect([]string{"a"}, Gone()).Until(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reached.Statuses.Equal(at(2)) {
		t.Errorf("got %v, want the time at which the wait began", reached)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	l := newLedger(time.Now)
	w := l.expect([]string{"a"}, Scaled(1))
	ctx, cancel := context.WithCancelCause(t.Context())
	broken := errors.New("broken")
	cancel(broken)
	if _, err := w.Until(ctx); !errors.Is(err, broken) {
		t.Errorf("got %v, want the cause", err)
	}
	if len(l.waits) != 0 {
		t.Errorf("%d waits are left", len(l.waits))
	}
}

func TestWaitSaysWhatIsMissing(t *testing.T) {
	l := newLedger(time.Now)
	w := l.expect([]string{"a", "b", "c"}, Scaled(1))
	l.sawChild("a", Child{Exists: true, Replicas: 1})
	l.sawChild("b", Child{Exists: true, Replicas: 1})
	l.sawFoo("a", Foo{Available: 1})
	if got, want := l.missing(w).String(), "1 Deployments and 2 Foos, such as c, are not as wanted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDue(t *testing.T) {
	current := Child{Exists: true, Generation: 3, Observed: 3, Replicas: 2, Available: 2}
	changed, unreported := current, current
	changed.Generation = 4
	unreported.Available = 1
	for _, test := range []struct {
		name  string
		foo   Foo
		child Child
		want  task
	}{
		{"no Deployment", Foo{Deleted: true}, Child{}, nothing},
		{"the status is current", Foo{}, current, nothing},
		{"a new generation", Foo{}, changed, report},
		{"other replicas are available", Foo{}, unreported, report},
		{"the Foo is deleted", Foo{Deleted: true}, changed, collect},
	} {
		if got := due(test.foo, test.child); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
