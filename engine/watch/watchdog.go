package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// client-go waits for the API server without limit. A proxy in between that accepts a
// request and never answers it, or stops in its answer, would therefore stop a watch for ever.
const (
	// headersPatience is how long a watch may take to begin. The API server begins it
	// at once.
	headersPatience = 30 * time.Second
	// listPatience is how long any other request may take to begin, and may then be silent. The
	// API server itself ends one after 60 seconds.
	listPatience = 70 * time.Second
	// streamPatience is how long a watch may be silent.
	streamPatience = 52 * time.Second
	// shortestWatch and longestWatch limit the timeout of a resumed watch. Without events,
	// the API server sends a bookmark two seconds before the timeout, and otherwise only
	// each minute. So a watch that is silent for longer than its timeout is broken, and
	// the next one resumes from a recent state.
	shortestWatch, longestWatch = 40 * time.Second, 48 * time.Second
)

// renewalTime returns the timeout of a resumed watch in seconds. It is random, so that
// not all watches are renewed at once.
func renewalTime() int64 {
	return int64((shortestWatch + rand.N(longestWatch-shortestWatch)).Seconds())
}

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
	var query url.Values
	if strings.Contains(r.URL.RawQuery, "watch=") {
		query = r.URL.Query()
	}
	watches := query.Get("watch") == "true"
	patience := listPatience
	if watches {
		patience = headersPatience
	} else if end, limited := r.Context().Deadline(); limited && time.Until(end) < listPatience {
		response, err := d.next.RoundTrip(r) // Nearly all requests: they need no timer of their own.
		if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
			forgetIdle(d.next)
		}
		return response, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{next: d.next, cancel: cancel, patience: patience}
	s.timer = time.AfterFunc(patience, s.expire)
	response, err := d.next.RoundTrip(r.WithContext(ctx))
	s.timer.Stop()
	if err != nil {
		cancel()
		if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
			forgetIdle(d.next)
		}
		if s.expired.Load() {
			return nil, fmt.Errorf("no answer within %s", patience)
		}
		return nil, err
	}
	s.ReadCloser, response.Body = response.Body, s
	if watches && response.StatusCode == http.StatusOK {
		s.log, s.level = d.log.With("path", r.URL.Path), slog.LevelWarn
		if query.Get("sendInitialEvents") == "true" {
			s.level = slog.LevelDebug // Its timeout is that of client-go, so a healthy one may be silent too.
		}
		s.patience = streamPatience
	}
	s.timer.Reset(s.patience)
	return response, nil
}

// forgetIdle closes idle connections after a request without an answer. A network that drops
// packets has dropped them on all connections. Over HTTP/1.1, the next request would wait on one of
// these, and the one after that on another. HTTP/2 has health checks.
func forgetIdle(next http.RoundTripper) { utilnet.CloseIdleConnectionsFor(next) }

// WrappedRoundTripper lets client-go find the transport.
func (d *watchdog) WrappedRoundTripper() http.RoundTripper { return d.next }

// A stream is the body of a response. It ends when it is silent.
type stream struct {
	io.ReadCloser
	next     http.RoundTripper
	cancel   context.CancelFunc
	patience time.Duration // how long it may be silent
	timer    *time.Timer
	expired  atomic.Bool
	log      *slog.Logger // nil unless it is a watch
	level    slog.Level
}

func (s *stream) expire() {
	s.expired.Store(true)
	forgetIdle(s.next)
	s.cancel()
}

// Read implements io.Reader. A silent watch ends as it does when the API server closes
// it: client-go then resumes it and does not list again. Any other silent answer is incomplete.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	switch {
	case err == nil:
		s.timer.Reset(s.patience)
	case !s.expired.Load():
		s.timer.Stop()
	case s.log == nil:
		return n, fmt.Errorf("nothing received for %s", s.patience)
	default:
		s.log.Log(context.Background(), s.level, "watch silent, watching again", "silence", s.patience)
		return n, io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.timer.Stop()
	s.cancel()
	return s.ReadCloser.Close()
}
