package rulewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reconcel/rules"
	"reconcel/test/e2e"
)

func TestRulesThatCannotBeActiveYet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	w, f, metrics := watchOf(file)
	log, compiled, tries := &e2e.Log{}, atomic.Int64{}, make(chan struct{}, 100)
	w.Log = slog.New(slog.NewTextHandler(log, nil))
	w.Check = func(context.Context, *rules.Loaded) error { compiled.Add(1); return nil }
	w.Reload = func(ctx context.Context, p *rules.Program) error {
		tries <- struct{}{}
		return f.follow(ctx, p)
	}
	f.fail(errors.New("the API server does not answer"))
	startWatch(t, w)
	write(t, file, named("b"))
	for n := range 2 {
		select {
		case <-tries:
		case <-time.After(e2e.Patience):
			t.Fatalf("after %s there were %d tries, want 2", e2e.Patience, n)
		}
	}
	awaitValue(t, metrics, 0)
	f.fail(nil)
	awaitState(t, f, "b", 0)
	awaitValue(t, metrics, 1)
	if n := log.Count("reload failed"); n != 1 {
		t.Errorf("it was logged %d times, want once:\n%s", n, log.String())
	}
	if n := compiled.Load(); n != 1 {
		t.Errorf("the rules were checked %d times, want once", n)
	}
}

// TestBackToActiveRules takes rules back that could not be followed.
func TestBackToActiveRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	f, metrics := watch(t, file)
	f.fail(errors.New("the API server does not answer"))
	write(t, file, named("b"))
	awaitValue(t, metrics, 0)
	write(t, file, named("a"))
	awaitValue(t, metrics, 1)
}

func TestPanicOverRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	w, f, metrics := watchOf(file)
	w.Check = func(_ context.Context, l *rules.Loaded) error {
		if strings.Contains(string(l.Sources[0].Data), "poison") {
			panic("boom")
		}
		return nil
	}
	startWatch(t, w)
	write(t, file, named("poison"))
	awaitState(t, f, "", 1)
	awaitValue(t, metrics, 0)
	write(t, file, named("b"))
	awaitState(t, f, "b", 1)
}

// TestRulesFromAPipe reads rules as a shell hands them over: run <(sed ...).
func TestRulesFromAPipe(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := fmt.Sprintf("/dev/fd/%d", from.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip("there are no files for open pipes here")
	}
	w, _, _ := watchOf(path)
	if _, err := to.WriteString(named("a")); err != nil {
		t.Fatal(err)
	}
	to.Close()
	sources, unread := w.Read()
	if len(unread) > 0 || len(sources) != 1 {
		t.Fatalf("read %v, %v", sources, unread)
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	New(w, rules.Compile(sources)).Start(ctx).Wait()
	if ctx.Err() != nil {
		t.Errorf("a pipe is still watched after %s", e2e.Patience)
	}
}
