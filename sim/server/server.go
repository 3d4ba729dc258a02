package server

import (
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"

	"reconcel/sim"
)

// KubernetesVersion is the version of the API that is served: that of the embedded schemas.
const KubernetesVersion = "v1.37.0"

// Options configure a Server. Cluster, Builtin and Token are required.
type Options struct {
	Cluster *sim.Cluster // with a History, unless it lives shortly
	// Token is what clients have to send as their bearer token.
	Token string
	// Clock is that of the cluster; default: the time of the machine. Ages in tables are counted by it.
	Clock Clock
	// Builtin are the kinds besides those of CRDs.
	Builtin *sim.Kinds
	// ReadyAfter is how long after a change of its spec a workload becomes ready; negative: never.
	ReadyAfter time.Duration
	// Problem is called with what the controllers cannot do, such as a CRD that cannot be served. It may be nil.
	Problem func(error)
}

// A Clock tells the time, and has timers.
type Clock interface {
	clock.PassiveClock
	NewTimer(d time.Duration) clock.Timer
}

// A Server serves the API of a cluster in memory.
type Server struct {
	Options
	schemas sync.Map // documents by *sim.Kinds
	mux     *http.ServeMux
}

// New returns a server. Its controllers work while Run runs.
func New(options Options) *Server {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Problem == nil {
		options.Problem = func(error) {}
	}
	s := &Server{Options: options, mux: http.NewServeMux()}
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		s.mux.HandleFunc(path, ok)
	}
	s.mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "37", GitVersion: KubernetesVersion + "+reconcel",
			Platform: "memory"})
	})
	s.mux.HandleFunc("/openapi/v2", serveOldSchema)
	s.mux.HandleFunc("/openapi/v3", s.serveSchemaIndex)
	s.mux.HandleFunc("/openapi/v3/", s.serveSchema)
	s.mux.HandleFunc("/api", s.serveVersions)
	s.mux.HandleFunc("/apis", s.serveGroups)
	s.mux.HandleFunc("/api/", s.serveAPI)
	s.mux.HandleFunc("/apis/", s.serveAPI)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	return s
}

// Handle serves a path outside of Kubernetes' API, for clients with the token.
func (s *Server) Handle(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1 {
		writeError(w, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// serveAPI serves objects, and the discovery of one group.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	at, ok := parsePath(r.URL.Path)
	switch {
	case !ok:
		http.NotFound(w, r)
	case at.resource == "":
		s.serveResources(w, r, at)
	default:
		s.serveObject(w, r, at)
	}
}
