package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"k8s.io/klog/v2"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/rules/source"
)

// newLog returns the log of the process. It includes the warnings and errors that
// the client library logs through klog, but not its other lines.
func newLog(w io.Writer, s *runFlags) *slog.Logger {
	level := settings.Level(s.logLevel)
	log := slog.New(newHandler(w, s, level))
	slog.SetDefault(log)
	client := newHandler(w, s, max(slog.LevelWarn, level))
	klog.SetSlogLogger(slog.New(&damped{client, &output.Damper{Every: repeatEvery}}))
	return log
}

// inLog returns an error of run for conclude to print. Where the log is JSON it logs the error instead: who
// reads that log expects nothing else. What is wrong with the command line is for the person who writes it.
func (c runCommand) inLog(s *runFlags, err error) error {
	code, coded := exit.Code(err)
	if !coded || code == exit.Usage || s.logFormat.Value != "json" || errors.Unwrap(err) == nil {
		return err
	}
	log := newLog(c.out.stderr, s)
	report, ofRules := errors.AsType[source.Errors](err)
	if !ofRules {
		log.Error("run failed", "error", errors.Unwrap(err))
	}
	for _, e := range report.Unwrap() {
		log.Error("rules invalid", "error", e)
	}
	return exit.Silent(code)
}

// newHandler returns a handler for lines from a level on. Several handlers may
// share w, because each writes a line with one call.
func newHandler(w io.Writer, s *runFlags, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutEmpty}
	if s.logFormat.Value == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// withoutEmpty omits keys of positions that are empty.
func withoutEmpty(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case "child", "rule", "trigger", "previous":
		if a.Value.Kind() == slog.KindString && a.Value.String() == "" {
			return slog.Attr{}
		}
	}
	return a
}

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
