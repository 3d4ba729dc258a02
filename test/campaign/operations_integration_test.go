//go:build integration

package campaign

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestOperations changes primaries, children, permissions and objects of others on one
// control plane. RECONCEL_PLAN=file plays one sequence of operations.
func TestOperations(t *testing.T) {
	t.Parallel()
	s := newStage(t, crumbCRD)
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"sequences", s.sequences},
		{"collisions", s.collisions},
		{"deletions", s.deletions},
		{"poison", s.poisoned},
		{"permissions", s.permissions},
		{"a namespace ends", s.namespaceEnds},
		{"a kind ends", s.kindEnds},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// awaitPatience is how long a case may take. On a busy machine, the API server answers
// some requests only after half a minute.
const awaitPatience = 5 * time.Minute

// await waits until check returns nil. Unlike e2e.Poll it returns an error, because many
// cases run in goroutines of one test.
func await(ctx context.Context, what string, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, awaitPatience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %w", awaitPatience, what, err)
		}
	}
}

// sideBySide does something with all cases at the same time, and reports the failures.
func sideBySide[T fmt.Stringer](t *testing.T, cases []T, do func(context.Context, T) error) {
	t.Helper()
	failures := make([]error, len(cases))
	var doing sync.WaitGroup
	for i, c := range cases {
		doing.Go(func() { failures[i] = do(t.Context(), c) })
	}
	doing.Wait()
	for i, err := range failures {
		if err != nil {
			t.Errorf("%s: %v", cases[i], err)
		}
	}
}
