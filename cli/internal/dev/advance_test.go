package dev

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	builtin "reconcel/rules/schema"
	"reconcel/sim"
)

// TestTimersMoveAlong arms timers and moves the clock.
func TestTimersMoveAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		began := c.Now()
		var soon, late, stopped atomic.Int32
		c.AfterFunc(time.Hour, func() { soon.Add(1) })
		moved := c.AfterFunc(2*time.Hour, func() { late.Add(1) })
		c.AfterFunc(time.Minute, func() { stopped.Add(1) }).Stop()
		timer := c.NewTimer(30 * time.Minute)
		if next := c.Next(24 * time.Hour); next != 30*time.Minute {
			t.Errorf("the next timer ends in %s", next)
		}
		c.Move(time.Hour)
		synctest.Wait()
		if at := (<-timer.C()).Sub(began); at != time.Hour || soon.Load() != 1 || late.Load() != 0 {
			t.Errorf("after an hour: a channel at %s, %d and %d calls", at, soon.Load(), late.Load())
		}
		moved.Reset(3 * time.Hour)
		c.Move(time.Hour)
		time.Sleep(2*time.Hour - time.Second)
		synctest.Wait()
		if late.Load() != 0 {
			t.Error("a timer that was reset ends at its earlier time")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if late.Load() != 1 || stopped.Load() != 0 {
			t.Errorf("%d and %d calls, want 1 and 0", late.Load(), stopped.Load())
		}
		if got := c.Since(began); got != 4*time.Hour {
			t.Errorf("%s have passed", got)
		}
	})
}

// clocked returns the parts of a server that move the clock.
func clocked(t *testing.T) *Server {
	t.Helper()
	kinds, err := sim.NewKinds(builtin.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Clock: NewClock()}
	if s.Cluster, err = sim.New(sim.Options{Kinds: kinds, Clock: s.Clock, History: history}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAdvanceStopsWhereSomethingIsDue lets something happen every ten minutes.
func TestAdvanceStopsWhereSomethingIsDue(t *testing.T) {
	synctest.Test(t, testAdvanceStopsWhereSomethingIsDue)
}

func testAdvanceStopsWhereSomethingIsDue(t *testing.T) {
	s := clocked(t)
	began := s.Clock.Now()
	var times []time.Duration
	again := make(chan struct{})
	var happen func()
	happen = func() {
		times = append(times, s.Clock.Since(began).Round(time.Minute))
		if len(times) == 6 {
			close(again)
			return
		}
		s.Clock.AfterFunc(10*time.Minute, happen)
	}
	s.Clock.AfterFunc(10*time.Minute, happen)
	if err := s.Advance(t.Context(), 61*time.Minute); err != nil {
		t.Fatal(err)
	}
	<-again
	for i, at := range times {
		if want := time.Duration(i+1) * 10 * time.Minute; at != want {
			t.Errorf("it happens at %v", times)
			break
		}
	}
}

// TestClockNeverGoesBack moves a clock as far as it can go.
func TestClockNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		for range 3 {
			before := c.Now()
			c.Move(math.MaxInt64 - time.Hour)
			if c.Now().Before(before) {
				t.Fatalf("it goes from %s to %s", before, c.Now())
			}
		}
	})
}

// TestAdvanceAwaitsSlowClients has a client that takes a while to do what is due at the end.
func TestAdvanceAwaitsSlowClients(t *testing.T) { synctest.Test(t, testAdvanceAwaitsSlowClients) }

func testAdvanceAwaitsSlowClients(t *testing.T) {
	s := clocked(t)
	namespaces := s.Cluster.Client("slow").Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	due := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "due"}}}
	s.Clock.AfterFunc(time.Minute, func() {
		time.Sleep(4 * quiet)
		_, _ = namespaces.Create(t.Context(), due, metav1.CreateOptions{})
	})
	if err := s.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := namespaces.Get(t.Context(), "due", metav1.GetOptions{}); err != nil {
		t.Errorf("what was due is not done: %v", err)
	}
}
