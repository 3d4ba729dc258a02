package cleanup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reconcel/engine/access"
)

// TestRepeatedProblems lets a task fail for a day, as it does while a resource is paused. Each problem is logged once,
// also one that comes back.
func TestRepeatedProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := &Cleanup{Shared: &access.Shared{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		began, paused, attempts := time.Now(), fmt.Errorf("Foo/a/b %w", ErrPaused), 0
		c.untilDone(t.Context(), "finalizer cleanup", func(context.Context) error {
			attempts++
			switch since := time.Since(began); {
			case since > 24*time.Hour:
				return nil
			case since > 12*time.Hour && since < 13*time.Hour:
				return errors.New("the server is unavailable")
			}
			return paused
		})
		if attempts < 1000 {
			t.Errorf("only %d attempts", attempts)
		}
		if lines := strings.Count(log.String(), "background task failed"); lines != 3 || strings.Count(log.String(), "is paused") != 2 {
			t.Errorf("%d lines:\n%.2000s", lines, log.String())
		}
	})
}
