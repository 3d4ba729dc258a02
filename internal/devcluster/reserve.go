package devcluster

import (
	"context"
	"sync"
	"testing"
)

// reserve has the clusters that Reserve has started. Like the shared one, they end with
// the process.
var reserve struct {
	mu   sync.Mutex
	idle []*Cluster

	borrowed sync.Mutex // held by the test that uses the only cluster
}

// Reserve returns a cluster for the exclusive use of this test: a free one that another
// test has used, or a new one. There are never more clusters than parallel tests. If the
// cluster is borrowed, tests use it one after the other.
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

// idle takes a free cluster, or returns nil.
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
