package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"k8s.io/klog/v2"
)

// newLog returns the log of the process. What the client library warns of through
// klog goes there too, and nothing else of what it says.
func newLog(w io.Writer, s *settings) *slog.Logger {
	log := slog.New(newHandler(w, s, slog.Level(s.logLevel)))
	slog.SetDefault(log)
	client := newHandler(w, s, max(slog.LevelWarn, slog.Level(s.logLevel)))
	klog.SetSlogLogger(slog.New(&damped{client, &repeats{}}))
	return log
}

// newHandler returns what writes the lines from a level on. Both handlers of a
// process write a line in one piece.
func newHandler(w io.Writer, s *settings, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutEmpty}
	if s.logFormat.text == "json" {
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

// warnings logs what the API server warns about, each text once. It forgets
// them all when there are many, so that names in them cannot fill the memory.
type warnings struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]bool
}

// HandleWarningHeaderWithContext takes one Warning header of a response.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	const miscellaneous, many = 299, 1000 // 299 is the only code that Kubernetes uses.
	if code != miscellaneous || text == "" {
		return
	}
	w.mu.Lock()
	told := w.seen[text]
	if len(w.seen) >= many || w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.mu.Unlock()
	if !told {
		w.log.WarnContext(ctx, "warning from the API server", "warning", text)
	}
}
