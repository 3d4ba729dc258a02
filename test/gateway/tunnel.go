package gateway

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Tunnel is an HTTP proxy that forwards connections after a CONNECT.
type Tunnel struct {
	server *httptest.Server

	mu      sync.Mutex
	targets []string
	conns   []net.Conn
}

// StartTunnel starts a proxy that runs until the test ends.
func StartTunnel(t testing.TB) *Tunnel {
	p := &Tunnel{}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		p.connect(w, r)
	}))
	t.Cleanup(func() {
		p.mu.Lock()
		for _, conn := range p.conns {
			_ = conn.Close() // There is no way to handle this error.
		}
		p.mu.Unlock()
		p.server.Close()
	})
	return p
}

// URL returns the URL of the proxy.
func (p *Tunnel) URL() string { return p.server.URL }

// Targets returns the address of each CONNECT.
func (p *Tunnel) Targets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.targets...)
}

func (p *Tunnel) connect(w http.ResponseWriter, r *http.Request) {
	server, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, data, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // HTTP/1.1 can do it.
	}
	p.mu.Lock()
	p.targets, p.conns = append(p.targets, r.Host), append(p.conns, client, server)
	p.mu.Unlock()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n") // If it fails, Copy fails.
	var running sync.WaitGroup
	running.Go(func() { _, _ = io.Copy(server, data); _ = server.Close() })
	running.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	running.Wait()
}
