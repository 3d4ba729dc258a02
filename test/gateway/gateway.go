package gateway

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/faultproxy"
)

// Protocol is what a gateway speaks.
type Protocol string

// The protocols.
const (
	Any   Protocol = "" // the client chooses
	HTTP1 Protocol = "HTTP/1.1"
	HTTP2 Protocol = "HTTP/2.0"
)

// Options describe how clients reach a gateway. The zero value is a server on 127.0.0.1
// that everybody may use.
type Options struct {
	Protocol    Protocol
	Address     string        // "127.0.0.1:0" by default
	Names       []string      // DNS names and IP addresses in the serving certificate; the address by default
	Prefix      string        // the path under which the API is, such as "/k8s/clusters/c-1"
	IdleTimeout time.Duration // after which the gateway closes a connection without a request; 0: never
	// Identify returns the identity of a client, or an error for a 401. nil accepts every client.
	Identify func(*http.Request) (identity string, err error)
}

// Request is a request that a gateway got.
type Request struct {
	faultproxy.Request
	At       time.Time
	Protocol Protocol
	Identity string // empty without Options.Identify
	Client   string // the address of the client's end of the connection
	Refused  string // why it was answered with 401; empty: it was not
}

// Gateway is a server in front of an API server.
type Gateway struct {
	options Options
	network *network
	server  *http.Server
	serving atomic.Pointer[tls.Config]
	trusted *Authority // that signed the serving certificate
	closed  atomic.Int64
	lost    atomic.Int64

	mu       sync.Mutex
	requests []Request
}

// Start starts a gateway that runs until the test ends. It forwards requests with the
// configuration upstream.
func Start(t testing.TB, upstream *rest.Config, options Options) *Gateway {
	t.Helper()
	if options.Address == "" {
		options.Address = "127.0.0.1:0"
	}
	listener, err := newNetwork(options.Address)
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	g := &Gateway{options: options, network: listener}
	if g.options.Names == nil {
		g.options.Names = []string{listener.Addr().(*net.TCPAddr).IP.String()}
	}
	g.Renew(NewAuthority(t))
	g.server = &http.Server{
		Handler:     http.StripPrefix(options.Prefix, g.handler(t, upstream)),
		TLSConfig:   &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return g.serving.Load(), nil }},
		Protocols:   g.protocols(),
		IdleTimeout: options.IdleTimeout,
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				g.closed.Add(1)
			}
		},
	}
	var running sync.WaitGroup
	running.Go(func() { _ = g.server.ServeTLS(listener, "", "") }) // It returns when the server is closed.
	t.Cleanup(func() {
		_ = g.server.Close() // There is no way to handle this error.
		listener.end()
		running.Wait()
	})
	return g
}

func (g *Gateway) protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(g.options.Protocol != HTTP2)
	p.SetHTTP2(g.options.Protocol != HTTP1)
	return p
}

// Renew gives the gateway a serving certificate of another authority, as if it had
// restarted: new connections get it, and no session of an earlier one is resumed.
func (g *Gateway) Renew(authority *Authority) {
	config := &tls.Config{
		Certificates: []tls.Certificate{authority.serve(g.options.Names)},
		ClientAuth:   tls.RequestClientCert, // Identify verifies it, as in the API server.
	}
	if g.options.Protocol != HTTP1 {
		config.NextProtos = append(config.NextProtos, "h2")
	}
	if g.options.Protocol != HTTP2 {
		config.NextProtos = append(config.NextProtos, "http/1.1")
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // It never fails.
	config.SetSessionTicketKeys([][32]byte{key})
	g.serving.Store(config)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trusted = authority
}

// URL returns the URL of the API.
func (g *Gateway) URL() string { return "https://" + g.network.Addr().String() + g.options.Prefix }

// CA returns the certificate of the authority that signed the serving certificate, in PEM.
func (g *Gateway) CA() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trusted.PEM()
}

// Kubeconfig returns the path of a kubeconfig that trusts the gateway and has no
// credentials, after a change that may be nil.
func (g *Gateway) Kubeconfig(t testing.TB, change func(*api.Cluster, *api.AuthInfo)) string {
	t.Helper()
	cluster, user := api.NewCluster(), api.NewAuthInfo()
	cluster.Server, cluster.CertificateAuthorityData = g.URL(), g.CA()
	if change != nil {
		change(cluster, user)
	}
	config := api.NewConfig()
	config.Clusters["gateway"], config.AuthInfos["client"] = cluster, user
	config.Contexts["gateway"] = &api.Context{Cluster: "gateway", AuthInfo: "client"}
	config.CurrentContext = "gateway"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatalf("gateway: %v", err)
	}
	return path
}

// Swallow makes the open connections lose all packets from now on, in both directions.
// They stay open. New connections work.
func (g *Gateway) Swallow() { g.network.swallow(false) }

// SwallowAll is Swallow, also for connections that open before restore is called.
func (g *Gateway) SwallowAll() (restore func()) {
	g.network.swallow(true)
	return g.network.restore
}

// Cut closes the open connections.
func (g *Gateway) Cut() { g.network.cut() }

// Closed returns the number of connections that have ended.
func (g *Gateway) Closed() int { return int(g.closed.Load()) }

// Lost returns the number of writes whose client was gone before it had the answer.
func (g *Gateway) Lost() int { return int(g.lost.Load()) }

// Requests returns the requests so far that match.
func (g *Gateway) Requests(match func(Request) bool) (found []Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.requests {
		if match(r) {
			found = append(found, r)
		}
	}
	return found
}

// Refused returns the requests that were answered with 401.
func (g *Gateway) Refused() []Request {
	return g.Requests(func(r Request) bool { return r.Refused != "" })
}

// handler identifies the client of a request, and forwards the request.
func (g *Gateway) handler(t testing.TB, upstream *rest.Config) http.Handler {
	t.Helper()
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	target, _, err := rest.DefaultServerUrlFor(upstream)
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	forward := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // The API server does not know it.
		},
		FlushInterval: -1, // Each part of an answer is passed on at once.
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := Request{Request: faultproxy.Parse(r), At: time.Now(), Protocol: Protocol(r.Proto), Client: r.RemoteAddr}
		var err error
		if g.options.Identify != nil {
			if seen.Identity, err = g.options.Identify(r); err != nil {
				seen.Refused = err.Error()
			}
		}
		g.mu.Lock()
		g.requests = append(g.requests, seen)
		g.mu.Unlock()
		if err != nil {
			refuse(w)
			return
		}
		defer func() {
			if seen.IsWrite() && r.Context().Err() != nil {
				g.lost.Add(1)
			}
		}()
		forward.ServeHTTP(w, r)
	})
}

// refuse answers as the API server does to a client that it cannot identify.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(w).Encode(apierrors.NewUnauthorized("Unauthorized").Status()) // It fails if the client has gone.
}
