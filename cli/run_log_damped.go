package cli

import (
	"context"
	"log/slog"
	"time"

	"reconcel/cli/internal/output"
)

// repeatEvery is the interval at which the client library may log the same line.
// Without a limit, it would log each attempt to renew the Lease, twice a second,
// while the API server does not respond.
const repeatEvery = time.Minute

// damped is a handler that drops a line if the same one was logged recently.
type damped struct {
	slog.Handler
	repeated *output.Damper
}

// Handle implements slog.Handler.
func (d *damped) Handle(ctx context.Context, record slog.Record) error {
	line := record.Message
	record.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	if !d.repeated.IsDue(line, record.Time) {
		return nil
	}
	return d.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (d *damped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &damped{d.Handler.WithAttrs(attrs), d.repeated}
}

// WithGroup implements slog.Handler.
func (d *damped) WithGroup(name string) slog.Handler {
	return &damped{d.Handler.WithGroup(name), d.repeated}
}
