package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reconcel/cli/internal/output"
)

// TestClientLibraryRepeatsItself has the library log one error twice a second, as it does
// while the API server is unavailable, and another error once.
func TestClientLibraryRepeatsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(&damped{slog.NewTextHandler(&out, nil), &output.Damper{Every: repeatEvery}}).With("logger", "client")
		for range 150 {
			log.Error("cannot read the Lease", "err", errors.New("connection refused"))
			time.Sleep(500 * time.Millisecond)
		}
		log.Error("cannot read the Lease", "err", errors.New("forbidden"))
		if n := strings.Count(out.String(), "connection refused"); n != 2 {
			t.Errorf("in 75 s the same line was logged %d times", n)
		}
		if !strings.Contains(out.String(), "forbidden") {
			t.Error("another error was dropped")
		}
	})
}
