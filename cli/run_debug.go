package cli

import (
	"net"
	"net/http"
	"net/http/pprof"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rulewatch"
	"reconcel/cli/internal/settings"
	"reconcel/engine"
)

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
