package devcluster

import (
	"strings"
	"sync"
	"testing"
)

// reserve has the clusters that Reserve has started. Like the shared one, they end with
// the process.
var reserve struct {
	mu   sync.Mutex
	idle map[string][]*Cluster // by their options

	borrowed sync.Mutex // held by the test that uses the only cluster
}

// Reserve returns a cluster for the exclusive use of this test: a free one that another
// test has used with the same options, or a new one. There are never more clusters than parallel tests. If the
// cluster is borrowed, tests use it one after the other.
func Reserve(t testing.TB, options Options) *Cluster {
	t.Helper()
	key := strings.Join(options.arguments(), " ")
	c := idle(key)
	if c == nil {
		var err error
		if c, err = Run(options); err != nil {
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
		if reserve.idle == nil {
			reserve.idle = map[string][]*Cluster{}
		}
		reserve.idle[key] = append(reserve.idle[key], c)
	})
	return c
}

// idle takes a free cluster, or returns nil.
func idle(key string) *Cluster {
	reserve.mu.Lock()
	defer reserve.mu.Unlock()
	free := reserve.idle[key]
	if len(free) == 0 {
		return nil
	}
	reserve.idle[key] = free[:len(free)-1]
	return free[len(free)-1]
}
