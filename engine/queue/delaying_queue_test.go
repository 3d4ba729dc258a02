package queue

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/ident"
	"reconcel/engine/plan"
)

// added is a request that a queue returned, and when.
type added struct {
	name  string
	after time.Duration
}

// collect returns what a queue returns until nothing is delayed, and shuts it down.
func collect(t *testing.T, q workqueue.TypedRateLimitingInterface[ident.Request]) (all []added) {
	t.Helper()
	started := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			r, stopped := q.Get()
			if stopped {
				return
			}
			all = append(all, added{r.Name, time.Since(started)})
			q.Done(r)
		}
	}()
	time.Sleep(24 * time.Hour) // Of the clock of the test.
	q.ShutDown()
	<-done
	return all
}

func TestEarliestDelayCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry()))
		a, b, c := ident.Request{Name: "a"}, ident.Request{Name: "b"}, ident.Request{Name: "c"}
		q.AddAfter(a, 12*time.Hour)
		q.AddAfter(b, 2*time.Second)
		q.AddAfter(a, time.Second)  // earlier: it counts
		q.AddAfter(b, time.Hour)    // later: it does not
		q.AddAfter(c, -time.Second) // at once
		got := collect(t, q)
		want := []added{{"c", 0}, {"a", time.Second}, {"b", 2 * time.Second}}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestRequestCanBeDelayedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry()))
		q.AddAfter(ident.Request{Name: "a"}, time.Second)
		time.AfterFunc(time.Second+time.Millisecond, func() { q.AddAfter(ident.Request{Name: "a"}, time.Minute) })
		want := []added{{"a", time.Second}, {"a", time.Minute + time.Second + time.Millisecond}}
		if got := collect(t, q); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestGetEndsDelay takes a request that is delayed, too. Only a delay that is asked for
// afterwards adds it again.
func TestGetEndsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry()))
		a, b := ident.Request{Name: "a"}, ident.Request{Name: "b"}
		q.AddAfter(a, time.Second)
		q.AddAfter(b, time.Second)
		q.Add(a)
		q.Add(b)
		for range 2 {
			r, _ := q.Get()
			q.Done(r)
		}
		q.AddAfter(b, time.Minute)
		want := []added{{"b", time.Minute}}
		if got := collect(t, q); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestAllDelaysEnd delays many requests in an order that is not that of their delays.
func TestAllDelaysEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		q := NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry()))
		var want []added
		for i := range n {
			want = append(want, added{fmt.Sprint(i), time.Duration(i+1) * time.Second})
			other := i * 7919 % n // All numbers, in another order.
			q.AddAfter(ident.Request{Name: fmt.Sprint(other)}, time.Duration(2*n+other)*time.Second)
		}
		for i := range n {
			other := i * 6007 % n
			q.AddAfter(ident.Request{Name: fmt.Sprint(other)}, time.Duration(other+1)*time.Second)
		}
		if got := collect(t, q); !slices.Equal(got, want) {
			t.Errorf("got %v, want each request in its second", got)
		}
	})
}

// TestDelayAfterShutdown checks that a stopped queue keeps no timer.
func TestDelayAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDelayingQueue(workqueue.NewTyped[ident.Request](), clock.RealClock{})
		q.AddAfter(ident.Request{Name: "a"}, time.Hour)
		q.ShutDown()
		q.AddAfter(ident.Request{Name: "b"}, time.Second)
		if q.timer.Stop() {
			t.Error("the timer runs after the shutdown")
		}
	})
}

// BenchmarkUnchangedDelay measures what each reconciliation asks for: a delay that is as
// long as before.
func BenchmarkUnchangedDelay(b *testing.B) {
	q := NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry()))
	defer q.ShutDown()
	r := ident.Request{Namespace: "default", Name: "example", UID: "b2f5a4d0-5a5f-4ad5-9a1c-0b1d2c3e4f50"}
	b.ReportAllocs()
	for b.Loop() {
		q.AddAfter(r, time.Hour)
	}
}
