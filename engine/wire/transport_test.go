package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// client returns a client of this package for a server, and its transport.
func client(t *testing.T, server *httptest.Server) (*http.Client, *Transport) {
	t.Helper()
	config := &rest.Config{Host: server.URL}
	if server.TLS != nil {
		config.TLSClientConfig.Insecure = true
	}
	transport, err := New(config)
	if err != nil || transport == nil {
		t.Fatalf("got %v, %v, want a transport", transport, err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, transport
}

// servers returns a server without and one with TLS, which count their connections.
func servers(t *testing.T, handler http.HandlerFunc) (map[string]*httptest.Server, *atomic.Int64) {
	t.Helper()
	opened := &atomic.Int64{}
	all := map[string]*httptest.Server{"http": httptest.NewUnstartedServer(handler), "https": httptest.NewUnstartedServer(handler)}
	for scheme, s := range all {
		s.EnableHTTP2 = true
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				opened.Add(1)
			}
		}
		if scheme == "https" {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
	}
	return all, opened
}

// echo answers with what it was asked, in the form that the path names.
func echo(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	text := fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL.RequestURI(), r.Host, r.Header.Get("X-Test"), asked)
	switch strings.Trim(r.URL.Path, "/") {
	case "none":
		w.WriteHeader(http.StatusNoContent)
		return
	case "empty":
		return
	case "denied":
		w.WriteHeader(http.StatusForbidden)
	case "large":
		text = strings.Repeat(text, 100_000)
	case "chunks":
		for part := range strings.SplitSeq(text, " ") {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		return
	}
	_, _ = io.WriteString(w, text)
}

// TestAnswersAreThoseOfNetHTTP compares answers with those that net/http reads.
func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	all, opened := servers(t, echo)
	for scheme, server := range all {
		own, _ := client(t, server)
		before := opened.Load()
		for _, path := range []string{"/a%2Fb?x=1&y=%26", "/none", "/empty", "/denied", "/large", "/chunks"} {
			for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete, http.MethodHead} {
				var got, want string
				for c, into := range map[*http.Client]*string{own: &got, server.Client(): &want} {
					var content io.Reader
					if method == http.MethodPatch {
						content = strings.NewReader(`{"a":1}`)
					}
					r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, content)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("X-Test", "value")
					answer, err := c.Do(r)
					if err != nil {
						t.Fatalf("%s %s %s: %v", scheme, method, path, err)
					}
					text, err := io.ReadAll(answer.Body)
					*into = fmt.Sprint(answer.StatusCode, answer.Header.Get("Content-Type"), string(text), err, answer.Body.Close())
				}
				if got != want {
					t.Errorf("%s %s %s: got %.200q, want %.200q", scheme, method, path, got, want)
				}
			}
		}
		if n := opened.Load() - before; n > 2 {
			t.Errorf("%s: %d connections are opened for requests one after another, want one for each client", scheme, n)
		}
	}
}

// TestRequestsAtTheSameTime sends requests from many goroutines, and then finds few idle
// connections.
func TestRequestsAtTheSameTime(t *testing.T) {
	all, _ := servers(t, echo)
	own, transport := client(t, all["https"])
	var senders sync.WaitGroup
	for i := range 100 {
		senders.Go(func() {
			for j := range 20 {
				content := fmt.Sprintf("%d-%d", i, j)
				answer, err := own.Post(all["https"].URL, "text/plain", strings.NewReader(content))
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(answer.Body)
				if err != nil || !strings.HasSuffix(string(text), content) {
					t.Errorf("got %q, %v, want what ends with %s", text, err, content)
				}
			}
		})
	}
	senders.Wait()
	if n := len(transport.idle); n < 1 || n > maxIdle {
		t.Errorf("%d connections are idle, want 1 to %d", n, maxIdle)
	}
}

// TestContextEndsRequests cancels requests that the server does not answer, or of which it
// has sent a part.
func TestContextEndsRequests(t *testing.T) {
	hang := make(chan struct{})
	all, _ := servers(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/part" {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
		}
		<-hang
	})
	defer close(hang)
	for scheme, server := range all {
		own, transport := client(t, server)
		for _, path := range []string{"/nothing", "/part"} {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(20*time.Millisecond, cancel)
			answer, err := own.Do(r)
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				_ = answer.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s %s: the error is %v, want that of the context", scheme, path, err)
			}
			if len(transport.idle) > 0 {
				t.Errorf("%s %s: the connection would be used again", scheme, path)
			}
		}
	}
}

// TestCloseUnblocksRead closes the body of a watch while another goroutine reads it.
func TestCloseUnblocksRead(t *testing.T) {
	hang := make(chan struct{})
	all, _ := servers(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-hang
	})
	defer close(hang)
	own, _ := client(t, all["https"])
	answer, err := own.Get(all["https"].URL)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := answer.Body.Read(make([]byte, 1))
		ended <- err
	}()
	_ = answer.Body.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a closed body can be read")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the body is closed, and its reader still waits")
	}
}

// TestClosedConnectionsAreNotUsed closes all idle connections at the server, as a restart
// does. No request fails because of it.
func TestClosedConnectionsAreNotUsed(t *testing.T) {
	all, opened := servers(t, echo)
	for scheme, server := range all {
		own, transport := client(t, server)
		for range 3 {
			answer, err := own.Post(server.URL, "text/plain", strings.NewReader("x"))
			if err != nil {
				t.Fatalf("%s: %v", scheme, err)
			}
			if _, err = io.Copy(io.Discard, answer.Body); err != nil {
				t.Fatal(err)
			}
			before := opened.Load()
			server.CloseClientConnections()
			awaitClosed(t, transport)
			if opened.Load() != before {
				t.Fatal("a connection is opened without a request")
			}
		}
	}
}

// awaitClosed waits until the end of the idle connections has arrived.
func awaitClosed(t *testing.T, transport *Transport) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		quiet := false
		for _, c := range transport.idle {
			quiet = quiet || isQuiet(c.raw)
		}
		switch {
		case !quiet:
			return
		case time.Now().After(deadline):
			t.Fatal("the server's end of the idle connections has not arrived")
		}
	}
}

// TestOldConnectionsAreNotUsed lets connections grow old.
func TestOldConnectionsAreNotUsed(t *testing.T) {
	all, opened := servers(t, echo)
	own, transport := client(t, all["http"])
	for name, age := range map[string]func(*conn){
		"idle": func(c *conn) { c.idleSince = c.idleSince.Add(-idleTimeout) },
		"used": func(c *conn) { c.born = c.born.Add(-lifetime) },
	} {
		for i := range 2 {
			answer, err := own.Get(all["http"].URL)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			if i == 0 {
				age(transport.idle[0])
			}
		}
		if n := len(transport.idle); n != 1 {
			t.Errorf("%s: %d connections are idle, want the new one", name, n)
		}
	}
	if n := opened.Load(); n != 3 {
		t.Errorf("%d connections are opened, want 3", n)
	}
}

// TestBrokenAnswersAreErrors has a server that breaks off in every part of an answer.
func TestBrokenAnswersAreErrors(t *testing.T) {
	const whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nwhole"
	for cut := range len(whole) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var served sync.WaitGroup
		served.Go(func() {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, whole[:cut])
			}
		})
		transport, err := New(&rest.Config{Host: "http://" + listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: transport}).Get("http://" + listener.Addr().String())
		if err == nil {
			_, err = io.ReadAll(answer.Body)
		}
		if err == nil || len(transport.idle) > 0 {
			t.Errorf("after %d bytes: the error is %v, %d connections are idle", cut, err, len(transport.idle))
		}
		_ = listener.Close()
		served.Wait()
	}
}

// TestDeniedConnectionsAreClosed does not use a connection again whose credentials the
// server rejects.
func TestDeniedConnectionsAreClosed(t *testing.T) {
	all, _ := servers(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	own, transport := client(t, all["https"])
	answer, err := own.Get(all["https"].URL)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("got %v, %v", answer, err)
	}
	if len(transport.idle) > 0 {
		t.Error("the connection is used again")
	}
}

// TestServersAreVerified rejects a certificate that the configuration does not trust.
func TestServersAreVerified(t *testing.T) {
	all, _ := servers(t, echo)
	transport, err := New(&rest.Config{Host: all["https"].URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&http.Client{Transport: transport}).Get(all["https"].URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the error is %v, want one about the certificate", err)
	}
}

// TestOtherTransportsAreLeftAlone leaves configurations to client-go that ask for more.
func TestOtherTransportsAreLeftAlone(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"transport": {Host: "https://a", Transport: http.DefaultTransport},
		"proxy":     {Host: "https://a", Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }},
	} {
		if transport, err := New(config); transport != nil || err != nil {
			t.Errorf("%s: got %v, %v", name, transport, err)
		}
	}
}

// BenchmarkRequests compares with net/http. User and system time of the process are what
// counts: the server is in it too.
func BenchmarkRequests(b *testing.B) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(bytes.Repeat([]byte("answer "), 400))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport, err := New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]*http.Client{"wire": {Transport: transport}, "http2": server.Client()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				answer, err := c.Post(server.URL, "application/json", bytes.NewReader(make([]byte, 1000)))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		})
	}
}
