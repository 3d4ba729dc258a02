package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/rulewatch"
	"reconcel/cli/internal/settings"
	"reconcel/engine"
)

// listenDebug takes the address. The name localhost may stand for any.
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

// debugHandler answers for debugging, with profiles if they are asked for.
func (s *runFlags) debugHandler(inspect func() engine.Inspection, files func() *rulewatch.State) http.Handler {
	mux := debugEndpoints(inspect, files)
	if s.pprof {
		addProfiles(mux)
	}
	return onlyLocal(mux)
}

// debugEndpoints are what the server for debugging answers.
func debugEndpoints(inspect func() engine.Inspection, files func() *rulewatch.State) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/rules", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		indented := json.NewEncoder(w)
		indented.SetEscapeHTML(false)
		indented.SetIndent("", "  ")
		_ = indented.Encode(debugRules(inspect(), files())) // Nobody is left to tell.
	})
	return mux
}

// addProfiles adds the profiles of the process.
func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// onlyLocal refuses requests under names that are not the machine's own: a page
// in a browser could have its name point here.
func onlyLocal(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]") // Of port 80, which is left out.
		}
		if !settings.IsLoopback(host) {
			http.Error(w, "only requests to localhost are answered", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
