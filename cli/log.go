package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"k8s.io/klog/v2"
)

// newLog returns the log of the process. What the client library logs through
// klog goes there too.
func newLog(w io.Writer, s *settings) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(s.logLevel)}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if s.logFormat.text == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	log := slog.New(handler)
	slog.SetDefault(log)
	klog.SetSlogLogger(log)
	return log
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
		w.log.WarnContext(ctx, "the API server warns", "warning", text)
	}
}
