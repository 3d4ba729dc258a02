package cli

import (
	"io"
	"log/slog"

	"k8s.io/klog/v2"

	"reconcel/cli/internal/settings"
)

// newLog returns the log of the process. What the client library warns of through
// klog goes there too, and nothing else of what it says.
func newLog(w io.Writer, s *runFlags) *slog.Logger {
	level := settings.Level(s.logLevel)
	log := slog.New(newHandler(w, s, level))
	slog.SetDefault(log)
	client := newHandler(w, s, max(slog.LevelWarn, level))
	klog.SetSlogLogger(slog.New(&damped{client, &repeats{}}))
	return log
}

// newHandler returns what writes the lines from a level on. Both handlers of a
// process write a line in one piece.
func newHandler(w io.Writer, s *runFlags, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutEmpty}
	if s.logFormat.Value == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// withoutEmpty leaves out the keys that say where something is if it is not
// there.
func withoutEmpty(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case "child", "rule", "trigger", "previous":
		if a.Value.Kind() == slog.KindString && a.Value.String() == "" {
			return slog.Attr{}
		}
	}
	return a
}
