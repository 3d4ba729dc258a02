package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/rulewatch"
	"reconcel/cli/internal/settings"
)

// A server answers requests on one address.
type server struct {
	listener net.Listener // nil: off
	http     *http.Server
	serving  sync.WaitGroup
}

// listen opens the address of a flag.
func listen(flag, address string) (*server, error) {
	if address == settings.Off {
		return &server{}, nil
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, exit.Failure(fmt.Errorf("%w: another reconcel may be running on this machine; a second installation "+
			"needs --name and %s", err, flag))
	}
	if err != nil {
		return nil, exit.Failure(fmt.Errorf("%w: choose another address with %s, or %s=off", err, flag, flag))
	}
	return &server{listener: l}, nil
}

// start serves until stop is called. It calls broken if serving fails.
func (s *server) start(handler http.Handler, broken func(error)) {
	if s.listener == nil {
		return
	}
	const patience = 10 * time.Second
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: patience, ReadTimeout: patience,
		IdleTimeout: 2 * time.Minute}
	s.serving.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			broken(exit.Failure(fmt.Errorf("listen on %s: %w", s.address(), err)))
		}
	})
}

func (s *server) address() string {
	if s.listener == nil {
		return settings.Off
	}
	return s.listener.Addr().String()
}

// stop waits up to 2 seconds for open requests.
func (s *server) stop() {
	if s.http == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.serving.Wait()
}

// endpoints are the paths of the server: healthz means that the process works.
// readyz means that it reconciles, or says why not yet. It is ready with the last valid rules, too.
func endpoints(ready func() error, files func() *rulewatch.State, metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
		if r := files().Record(); r != nil {
			_, _ = fmt.Fprintln(w, r)
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{Registry: metrics}))
	return mux
}
