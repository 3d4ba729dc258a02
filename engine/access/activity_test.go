package access

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"reconcel/engine/decide"
)

// TestActivityIsBounded reports ten thousand actions at once. Some get a line of their
// own, and a summary counts the others, so that none is missing.
func TestActivityIsBounded(t *testing.T) {
	var out bytes.Buffer
	a := NewActivity(slog.New(slog.NewTextHandler(&out, nil)))
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 10_000 {
		a.Record(now, LogEntry{What: "created", Object: fmt.Sprintf("Foo/a/f%d", i), Child: fmt.Sprintf("Deployment/a/f%d", i), rule: "foo", Kind: "Deployment", why: decide.WhyCreated})
	}
	a.flush()
	a.flush() // A second flush does not repeat the summary.
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != mostLines+1 {
		t.Fatalf("there are %d lines", len(lines))
	}
	const want = `msg="activity summary" action=created count=9900 kind=Deployment rule=foo trigger="resource created"`
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, want) {
		t.Errorf("the last line is %s", last)
	}
	out.Reset()
	a.Record(now.Add(time.Second), LogEntry{What: "deleted", Object: "Foo/a/f", Child: "Deployment/a/f", rule: "foo", Kind: "Deployment", why: decide.WhyUnrendered})
	if got := out.String(); !strings.HasSuffix(got, "msg=deleted object=Foo/a/f child=Deployment/a/f rule=foo trigger=\"no longer rendered\"\n") {
		t.Errorf("a second later: %q", got)
	}
}

// BenchmarkActivity measures the log lines of a thousand creations a minute.
func BenchmarkActivity(b *testing.B) {
	a := NewActivity(slog.New(slog.NewJSONHandler(new(bytes.Buffer), nil)))
	now := time.Now()
	for i := range b.N {
		now = now.Add(60 * time.Millisecond)
		a.Record(now, LogEntry{What: "created", Object: "Foo/a/f", Child: "Deployment/a/f", rule: "foo", Kind: "Deployment", why: fmt.Sprint(i % 10)})
	}
}
