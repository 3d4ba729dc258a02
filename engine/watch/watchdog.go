package watch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// client-go waits for the API server without limit. A proxy in between that accepts a
// request and never answers it would therefore stop a watch for ever.
const (
	// headersPatience is how long a watch may take to begin. The API server begins it
	// at once.
	headersPatience = 30 * time.Second
	// listPatience is how long any other request may take to begin. The API server
	// itself ends one after 60 seconds.
	listPatience = 70 * time.Second
	// streamPatience is how long a watch may be silent. The API server sends a bookmark
	// each minute.
	streamPatience = 150 * time.Second
)

// LimitSilence returns a configuration whose requests end when the API server is
// silent for too long. A watch then resumes where it ended.
func LimitSilence(config *rest.Config, log *slog.Logger) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &watchdog{next, log} })
	return config
}

type watchdog struct {
	next http.RoundTripper
	log  *slog.Logger
}

// RoundTrip implements http.RoundTripper.
func (d *watchdog) RoundTrip(r *http.Request) (*http.Response, error) {
	watches := r.URL.Query().Get("watch") == "true"
	patience := listPatience
	if watches {
		patience = headersPatience
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{cancel: cancel}
	s.timer = time.AfterFunc(patience, s.expire)
	response, err := d.next.RoundTrip(r.WithContext(ctx))
	s.timer.Stop()
	if err != nil {
		cancel()
		if s.expired.Load() {
			return nil, fmt.Errorf("no answer within %s", patience)
		}
		return nil, err
	}
	s.ReadCloser, response.Body = response.Body, s
	if watches && response.StatusCode == http.StatusOK {
		s.log = d.log.With("path", r.URL.Path)
		s.timer.Reset(streamPatience)
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport.
func (d *watchdog) WrappedRoundTripper() http.RoundTripper { return d.next }

// A stream is the body of a response. That of a watch ends when it is silent.
type stream struct {
	io.ReadCloser
	cancel  context.CancelFunc
	timer   *time.Timer
	expired atomic.Bool
	log     *slog.Logger // nil unless it is a watch
}

func (s *stream) expire() {
	s.expired.Store(true)
	s.cancel()
}

// Read implements io.Reader. A silent watch ends as it does when the API server closes
// it: client-go then resumes it and does not list again.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	switch {
	case s.log == nil:
	case err != nil && s.expired.Load():
		s.log.Warn("watch silent, watching again", "silence", streamPatience)
		return n, io.EOF
	case err == nil:
		s.timer.Reset(streamPatience)
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.timer.Stop()
	s.cancel()
	return s.ReadCloser.Close()
}
