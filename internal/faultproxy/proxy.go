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

// Proxy forwards requests to an API server. By default it does not change them.
type Proxy struct {
	server *httptest.Server

	mu      sync.Mutex
	hook    func(Write) bool
	writes  int // since the hook was set
	answers []*answer
	delays  []delay
	changed chan struct{} // closed, and replaced, when delays change
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

// Answer is the proxy's answer instead of the API server's.
type Answer struct {
	Code       int           // HTTP status
	RetryAfter time.Duration // in whole seconds; 0 leaves the header out
	Times      int           // the number of answers; 0 until lift is called
}

type answer struct {
	Answer
	match func(Request) bool
	left  int
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
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, reverse) }))
	t.Cleanup(func() {
		p.server.CloseClientConnections() // Watches do not end on their own.
		p.server.Close()
	})
	return p
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

// Answer makes the proxy itself answer the requests that match, until lift is called or
// the limit of answers is reached. The first matching answer applies.
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

// writeKey is the context key of a request's write.
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
		// The API server then sends one line for each event, without compression.
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

// answered handles the API server's answer before the controller gets it.
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
			a.left-- // A negative count continues without limit.
			return a
		}
	}
	return nil
}

// reasons are the reasons that an API server sends with a status, because clients check
// them.
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
	_ = json.NewEncoder(w).Encode(status) // It fails if the client has gone.
}
