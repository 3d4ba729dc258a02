package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	clientmetrics "k8s.io/client-go/tools/metrics"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rulewatch"
	"reconcel/cli/internal/settings"
	"reconcel/engine"
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
// readyz means that it reconciles, or says why not yet. It is ready with the last valid rules, too, and says what is
// wrong with the rules.
func endpoints(ready func() error, files func() *rulewatch.State, problems func() []string,
	metrics *prometheus.Registry) http.Handler {
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
		for _, problem := range problems() {
			_, _ = fmt.Fprintln(w, problem)
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{Registry: metrics}))
	return mux
}

// listenDebug opens the address of --debug-listen. It checks the resolved address,
// because localhost may resolve to any.
func listenDebug(address string) (*server, error) {
	s, err := listen("--debug-listen", address)
	if err != nil || s.listener == nil {
		return s, err
	}
	if at, ok := s.listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = s.listener.Close()
		return nil, exit.Misused("--debug-listen=%s resolves to %s, which is not a loopback address", address, s.address())
	}
	return s, nil
}

// A debugAnswer is the response of /debug/rules.
type debugAnswer struct {
	Files *rulewatch.State `json:"files"`
	engine.Inspection
}

// debugHandler returns the handler for debugging, with profiles if --pprof is set.
func (s *runFlags) debugHandler(inspect func() engine.Inspection, files func() *rulewatch.State) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/rules", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, _ := output.JSON(debugAnswer{files(), inspect()}) // These types are always valid JSON.
		_, _ = w.Write(text)                                    // The client has gone if this fails.
	})
	if s.pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return onlyLocal(mux)
}

// onlyLocal rejects requests whose host is not a loopback name. It stops DNS
// rebinding: a page in a browser could point its own host name to this address.
func onlyLocal(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]") // A Host header without a port means port 80.
		}
		if !settings.IsLoopback(host) {
			http.Error(w, "only requests to localhost are answered", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// newMetrics returns a registry with the metrics of the process. The engine adds
// its own.
func newMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	requests := requestCounter{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Requests to the API server, by method and status code.",
	}, []string{"code", "method"})}
	r.MustRegister(requests, collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	clientmetrics.Register(clientmetrics.RegisterOpts{RequestResult: requests})
	return r
}

// requestCounter counts the requests of the client library. The metric has the
// same name in every Kubernetes controller.
type requestCounter struct{ *prometheus.CounterVec }

// Increment counts one request.
func (c requestCounter) Increment(_ context.Context, code, method, _ string) {
	c.WithLabelValues(code, method).Inc()
}
