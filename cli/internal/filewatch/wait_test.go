package filewatch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reconcel/test/e2e"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBusyFolder keeps changing a file beside the one that counts.
func TestBusyFolder(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "rules.yaml")
	write(t, file, "a")
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	started, looks, found := time.Now(), 0, make(chan string)
	go func() {
		found <- Wait(ctx, slog.New(slog.DiscardHandler), []string{folder}, "a", func() string {
			looks++
			text, _ := os.ReadFile(file)
			return string(text)
		})
	}()
	for i := range 2000 {
		write(t, filepath.Join(folder, "log"), fmt.Sprint(i))
	}
	write(t, file, "b")
	for i := 0; ; i++ {
		select {
		case got := <-found:
			if most := 5 + int(time.Since(started)/settle); got != "b" || looks > most {
				t.Errorf("found %q after %d looks in %s, want b after at most %d", got, looks, time.Since(started), most)
			}
			return
		default:
			write(t, filepath.Join(folder, "log"), fmt.Sprint(i))
		}
	}
}

func TestRenamedFile(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
	write(t, from, "text")
	var seen Seen
	seen.Add(to)
	seen.Add(from)
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if got := seen.Wait(t.Context()); got != to {
		t.Errorf("%s changed, want %s", got, to)
	}
}

func TestNothingChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, "a")
	var seen Seen
	seen.Add(file)
	write(t, file, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 3*settle)
	defer cancel()
	if got := seen.Wait(ctx); got != "" {
		t.Errorf("%s has changed", got)
	}
}
