package devcluster

import (
	"context"
	"sync"
	"testing"
)

// reserve has the clusters that Reserve has started. Like the shared one they
// end with the process.
var reserve struct {
	mu   sync.Mutex
	idle []*Cluster

	borrowed sync.Mutex // held by the test that uses a cluster of which there is one
}

// Reserve returns a cluster that no other test gets before this one ends: one
// that another test is done with, or a new one. There are never more than tests
// run at the same time. A cluster that was borrowed is only one: then one test
// waits for the other.
func Reserve(t testing.TB) *Cluster {
	t.Helper()
	c := idle()
	if c == nil {
		var err error
		if c, err = start(context.Background(), Options{}); err != nil {
			t.Fatalf("devcluster: %v", err)
		}
	}
	if c.Borrowed() {
		reserve.borrowed.Lock()
		t.Cleanup(reserve.borrowed.Unlock)
	}
	t.Cleanup(func() {
		reserve.mu.Lock()
		defer reserve.mu.Unlock()
		reserve.idle = append(reserve.idle, c)
	})
	return c
}

// idle takes a cluster that nobody uses, or returns nil.
func idle() *Cluster {
	reserve.mu.Lock()
	defer reserve.mu.Unlock()
	last := len(reserve.idle) - 1
	if last < 0 {
		return nil
	}
	c := reserve.idle[last]
	reserve.idle = reserve.idle[:last]
	return c
}
