package driver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEachNameIsDoneOnce(t *testing.T) {
	var done atomic.Int32
	names := make([]string, 100)
	if err := each(t.Context(), names, func(context.Context, string) error { done.Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	if done.Load() != 100 {
		t.Errorf("got %d calls, want 100", done.Load())
	}
}

func TestEachReturnsTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	err := each(t.Context(), make([]string, 100), func(context.Context, string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestEachFailsIfItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	err := each(ctx, make([]string, 100), func(context.Context, string) error { cancel(interrupted); return nil })
	if !errors.Is(err, interrupted) {
		t.Errorf("got %v: not all names are done", err)
	}
}
