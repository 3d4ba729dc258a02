package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// repeatEvery is the interval at which the client library may log the same line.
// Without a limit, it would log each attempt to renew the Lease, twice a second,
// while the API server does not respond.
const repeatEvery = time.Minute

// damped is a handler that drops a line if the same one was logged recently.
type damped struct {
	slog.Handler
	repeats *repeats
}

// repeats records when each line was last logged. It forgets all lines when there
// are many.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether a line should be logged now.
func (r *repeats) due(line string, now time.Time) bool {
	const many = 1000
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.last[line]; ok && now.Sub(last) < repeatEvery {
		return false
	}
	if len(r.last) >= many || r.last == nil {
		r.last = map[string]time.Time{}
	}
	r.last[line] = now
	return true
}

// Handle implements slog.Handler.
func (d *damped) Handle(ctx context.Context, record slog.Record) error {
	line := record.Message
	record.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	if !d.repeats.due(line, record.Time) {
		return nil
	}
	return d.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (d *damped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &damped{d.Handler.WithAttrs(attrs), d.repeats}
}

// WithGroup implements slog.Handler.
func (d *damped) WithGroup(name string) slog.Handler {
	return &damped{d.Handler.WithGroup(name), d.repeats}
}
