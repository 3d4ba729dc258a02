package faultproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Proxy forwards requests to an API server. Without further orders it changes
// nothing about them.
type Proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	hook    func(Write) bool
	writes  int // since the hook was set
	answers []*answer
	delays  []delay
	changed chan struct{} // closed, and replaced, when delays change
}

// Write is a request to change something, at one of two moments: when it is
// about to be forwarded, and when the API server has answered it and the
// controller does not know yet.
type Write struct {
	Request
	N         int  // 1 for the first since the hook was set
	Committed bool // whether it has been forwarded, and answered
	Code      int  // HTTP status of the answer, once it is Committed
}

// Answer is what the proxy says in the API server's place.
type Answer struct {
	Code       int           // HTTP status
	RetryAfter time.Duration // in whole seconds; 0 leaves the header out
	Times      int           // how often; 0 until it is lifted
}

type answer struct {
	Answer
	match func(Request) bool
	left  int
}

// Start starts a proxy that lives until the test ends.
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
		FlushInterval:  -1, // What is known is passed on at once.
		ModifyResponse: p.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, reverse) }))
	t.Cleanup(func() {
		p.server.CloseClientConnections() // Watches do not end by themselves.
		p.server.Close()
	})
	return p
}

// URL returns where the proxy listens.
func (p *Proxy) URL() string { return p.server.URL }

// Kubeconfig returns the path of a kubeconfig that leads through the proxy.
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

// OnWrite calls hook for each write, twice: before it is forwarded, and before
// its answer is delivered. If hook returns false, the connection is cut there and
// then. It is called for several writes at a time if the controller makes them
// so. It replaces the hook before, nil is none, and counting begins anew.
func (p *Proxy) OnWrite(hook func(Write) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook, p.writes = hook, 0
}

// Writes returns how many writes have come in since OnWrite.
func (p *Proxy) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}

// Answer lets the proxy itself answer the requests that match, until lift is
// called or it has done so often enough. Of several answers the first holds.
func (p *Proxy) Answer(match func(Request) bool, with Answer) (lift func()) {
	a := &answer{Answer: with, match: match, left: with.Times}
	if with.Times == 0 {
		a.left = -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, a)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		a.left = 0
	}
}

// writeKey finds the write in the context of its request.
type writeKey struct{}

type pending struct {
	Write
	hook func(Write) bool
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	request := parse(r)
	if a := p.canned(request); a != nil {
		a.write(w)
		return
	}
	if request.Watch {
		// One line for each event, and not compressed.
		r.Header.Set("Accept", "application/json")
		r.Header.Del("Accept-Encoding")
	}
	if request.IsWrite() {
		it := p.count(request)
		if it.hook != nil && !it.hook(it.Write) {
			panic(http.ErrAbortHandler)
		}
		r = r.WithContext(context.WithValue(r.Context(), writeKey{}, it))
	}
	next.ServeHTTP(w, r)
}

func (p *Proxy) count(request Request) pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	return pending{Write: Write{Request: request, N: p.writes}, hook: p.hook}
}

var errCut = errors.New("cut")

// answered sees the API server's answer before the controller does.
func (p *Proxy) answered(response *http.Response) error {
	ctx := response.Request.Context()
	if it, ok := ctx.Value(writeKey{}).(pending); ok && it.hook != nil {
		it.Committed, it.Code = true, response.StatusCode
		if !it.hook(it.Write) {
			return errCut // The error handler cuts the connection.
		}
	}
	if request := parse(response.Request); request.Watch && response.StatusCode == http.StatusOK {
		response.Body = p.slowed(ctx, request, response.Body)
	}
	return nil
}

func (p *Proxy) canned(request Request) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.answers {
		if a.left != 0 && a.match(request) {
			a.left-- // Below 0 it goes on for good.
			return a
		}
	}
	return nil
}

// reasons are what an API server says with a status: clients go by them.
var reasons = map[int]metav1.StatusReason{
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

func (a *answer) write(w http.ResponseWriter) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(a.Code), Reason: reasons[a.Code],
		Message: fmt.Sprintf("the proxy says %d", a.Code),
	}
	w.Header().Set("Content-Type", "application/json")
	if a.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(a.RetryAfter/time.Second)))
	}
	w.WriteHeader(a.Code)
	_ = json.NewEncoder(w).Encode(status) // Fails where the client has gone.
}
