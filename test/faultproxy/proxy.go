package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Proxy forwards requests to an API server. By default it does not change them.
type Proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	hook    func(Write) bool
	writes  int // since the hook was set
	faults  []*Injected
	hidden  []*hiddenGroup
	frozen  *view // nil unless the API server lags
	delays  []delay
	changed chan struct{} // closed, and replaced, when delays change
	seconds int           // after which the API server ends a watch; 0: as the client asks

	frameFaults []*InjectedFrames
}

// Write is a request that changes something, at one of two moments: before the proxy
// forwards it, and after the API server has answered it but before the controller gets
// the answer.
type Write struct {
	Request
	N         int  // starts at 1 when the hook is set
	Committed bool // whether the API server has answered it
	Code      int  // HTTP status of the answer, once it is Committed
}

// Start starts a proxy that runs until the test ends.
func Start(t testing.TB, config *rest.Config) *Proxy {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	p := &Proxy{changed: make(chan struct{})}
	reverse := &httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1, // Each part of an answer is passed on at once.
		ModifyResponse: p.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		p.serve(w, r, reverse)
	}))
	t.Cleanup(func() {
		p.liftAll()
		p.server.CloseClientConnections() // Watches do not end on their own.
		p.server.Close()
	})
	return p
}

// liftAll ends all faults, because the server waits for the requests that they hold.
func (p *Proxy) liftAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.faults {
		in.Lift()
	}
	for _, in := range p.frameFaults {
		in.Lift()
	}
}

// URL returns the URL of the proxy.
func (p *Proxy) URL() string { return p.server.URL }

// Kubeconfig returns the path of a kubeconfig that uses the proxy.
func (p *Proxy) Kubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: %q}}]
contexts: [{name: proxy, context: {cluster: proxy, user: ""}}]
current-context: proxy
`, p.URL())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// OnWrite calls hook twice for each write: before the proxy forwards it, and before it
// delivers the answer. If hook returns false, the proxy cuts the connection at that
// moment. The hook runs concurrently if the controller writes concurrently. OnWrite
// replaces the previous hook and restarts the count. A nil hook removes it.
func (p *Proxy) OnWrite(hook func(Write) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook, p.writes = hook, 0
}

// Writes returns the number of writes since OnWrite.
func (p *Proxy) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}

// exchangeKey is the context key of a request's exchange.
type exchangeKey struct{}

// exchange is a request on its way.
type exchange struct {
	request Request
	write   Write
	hook    func(Write) bool // nil unless the request is a write
	fault   *Injected        // nil if it has none
	initial bool             // whether the watch begins with the initial events
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	it := &exchange{request: Parse(r)}
	if it.request.Method == http.MethodPost && it.request.Name == "" {
		it.request.Name = nameIn(r)
	}
	if it.request.Watch {
		// The API server then sends one line for each event, without compression.
		r.Header.Set("Accept", "application/json")
		r.Header.Del("Accept-Encoding")
		it.initial = r.URL.Query().Get("sendInitialEvents") == "true"
		p.shorten(r)
	}
	if p.discover(w, r) {
		return
	}
	if v := p.frozenView(); v != nil && v.match(it.request) && v.lag(w, r, it.request) {
		return
	}
	if it.request.IsWrite() {
		p.count(it)
		if it.hook != nil && !it.hook(it.write) {
			panic(http.ErrAbortHandler)
		}
	}
	it.fault = p.faultOf(it.request)
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, it))
	if it.fault == nil || it.fault.before(w, r, next) {
		next.ServeHTTP(w, r)
	}
}

func (p *Proxy) count(it *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	it.hook, it.write = p.hook, Write{Request: it.request, N: p.writes}
}

// answered handles the API server's answer before the controller gets it.
func (p *Proxy) answered(response *http.Response) error {
	ctx := response.Request.Context()
	it := ctx.Value(exchangeKey{}).(*exchange)
	if it.hook != nil {
		it.write.Committed, it.write.Code = true, response.StatusCode
		if !it.hook(it.write) {
			return errCut // The error handler cuts the connection.
		}
	}
	if it.fault != nil {
		if err := it.fault.after(response); err != nil {
			return err
		}
	}
	if it.request.Watch && response.StatusCode == http.StatusOK {
		response.Body = p.filtered(ctx, it, response.Body)
	}
	return p.hideGroups(response)
}
