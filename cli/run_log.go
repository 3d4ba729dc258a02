package cli

import (
	"errors"
	"io"
	"log/slog"

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
