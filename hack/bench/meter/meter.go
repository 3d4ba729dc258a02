// Package meter stands between a process and the API server, and counts what the process receives.
// It passes every request on with the credentials of one user, over HTTP/2 and TLS as the API
// server itself.
package meter

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Meter is a proxy to an API server.
type Meter struct {
	server  *httptest.Server
	watched atomic.Int64
}

// Start starts a meter on loopback. Stop must be called.
func Start(config *rest.Config) (*Meter, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	m := &Meter{}
	m.server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1, // Each part of an answer is passed on at once.
		ModifyResponse: m.count,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0),
	})
	m.server.EnableHTTP2 = true
	m.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	m.server.Config.ErrorLog = log.New(io.Discard, "", 0) // Connections that end are no news.
	m.server.StartTLS()
	return m, nil
}

// Stop ends the meter and all requests.
func (m *Meter) Stop() {
	m.server.CloseClientConnections() // Watches do not end on their own.
	m.server.Close()
}

// Watched is how many bytes of watches the process has received: of their bodies.
func (m *Meter) Watched() int64 { return m.watched.Load() }

// count has the body of a watch counted while it is passed on.
func (m *Meter) count(r *http.Response) error {
	if r.Request.URL.Query().Get("watch") != "" {
		r.Body = &counted{ReadCloser: r.Body, sum: &m.watched}
	}
	return nil
}

// counted is a body whose bytes are counted.
type counted struct {
	io.ReadCloser
	sum *atomic.Int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Add(int64(n))
	return n, err
}

// WriteKubeconfig writes a kubeconfig that names the meter instead of the API server.
func (m *Meter) WriteKubeconfig(path string) error {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate().Raw})
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: meter, cluster: {server: %q, certificate-authority-data: %s}}]
contexts: [{name: meter, context: {cluster: meter, user: ""}}]
current-context: meter
`, m.server.URL, base64.StdEncoding.EncodeToString(authority)), 0o600)
}
