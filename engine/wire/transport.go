package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	// maxIdle is the number of connections that wait for a request. More are closed.
	maxIdle = 64
	// idleTimeout is how long a connection waits for a request. The API server closes
	// it after 90 seconds, load balancers after 60.
	idleTimeout = 45 * time.Second
	// lifetime is how long a connection is used. After that, a renewed client certificate
	// counts, and another API server behind the load balancer gets requests.
	lifetime = 5 * time.Minute
	// dialTimeout limits how long it takes to connect, and then the TLS handshake. They
	// are those of client-go.
	dialTimeout, handshakeTimeout = 30 * time.Second, 10 * time.Second
)

// A Transport is an http.RoundTripper for one host. The zero value is not usable.
type Transport struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config // nil: without TLS

	mu   sync.Mutex
	idle []*conn // the one that was used last is at the end
}

// New returns a transport for a client configuration, without its wrappers: they are
// those of rest.HTTPWrappersForConfig. It returns nil if the configuration has a
// transport or a proxy of its own, also by the environment.
func New(config *rest.Config) (*Transport, error) {
	if config.Transport != nil || config.Proxy != nil {
		return nil, nil
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: host})
	if proxy != nil || err != nil {
		return nil, nil //nolint:nilerr // client-go reports it.
	}
	c, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	t := &Transport{dial: (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}).DialContext}
	if c.DialHolder != nil {
		t.dial = c.DialHolder.Dial
	}
	if host.Scheme == "http" {
		return t, nil
	}
	if t.tls, err = transport.TLSConfigFor(c); err != nil {
		return nil, err
	}
	if t.tls == nil {
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.tls.NextProtos = []string{"http/1.1"}
	if t.tls.ServerName == "" {
		t.tls.ServerName = host.Hostname()
	}
	t.tls.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	return t, nil
}

// RoundTrip implements http.RoundTripper. The context of the request also ends the
// body of the answer.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.exchange(r)
	if err != nil && r.Context().Err() != nil {
		err = r.Context().Err()
	}
	return response, err
}

func (t *Transport) exchange(r *http.Request) (*http.Response, error) {
	c, err := t.connect(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	b := &body{transport: t, conn: c, ctx: r.Context()}
	b.detach = context.AfterFunc(r.Context(), c.abort)
	response, err := c.exchange(r)
	if err != nil {
		b.detach()
		c.abort()
		return nil, err
	}
	// Credentials may belong to the connection.
	b.last = response.Close || response.StatusCode == http.StatusUnauthorized
	b.from, response.Body = response.Body, b
	if response.ContentLength == 0 {
		b.end(true)
	}
	return response, nil
}

// connect returns an idle connection, or a new one.
func (t *Transport) connect(r *http.Request) (*conn, error) {
	for {
		c := t.take()
		if c == nil {
			break
		}
		if now := time.Now(); now.Sub(c.idleSince) < idleTimeout && now.Sub(c.born) < lifetime && isQuiet(c.raw) {
			return c, nil
		}
		c.abort()
	}
	raw, err := t.dial(r.Context(), "tcp", addressOf(r))
	if err != nil {
		return nil, err
	}
	raw = direct(raw)
	stream := raw
	if t.tls != nil {
		ctx, cancel := context.WithTimeout(r.Context(), handshakeTimeout)
		defer cancel()
		encrypted := tls.Client(raw, t.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		stream = encrypted
	}
	return &conn{raw: raw, born: time.Now(), reader: bufio.NewReader(stream), writer: bufio.NewWriter(stream)}, nil
}

func addressOf(r *http.Request) string {
	if port := r.URL.Port(); port != "" {
		return net.JoinHostPort(r.URL.Hostname(), port)
	}
	return net.JoinHostPort(r.URL.Hostname(), map[string]string{"http": "80", "https": "443"}[r.URL.Scheme])
}

// take removes and returns the idle connection that was used last, or nil.
func (t *Transport) take() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	c := t.idle[len(t.idle)-1]
	t.idle = t.idle[:len(t.idle)-1]
	return c
}

// keep makes a connection idle. It closes the one that has been idle for longest if that
// is too long, or if there are too many.
func (t *Transport) keep(c *conn) {
	c.idleSince = time.Now()
	t.mu.Lock()
	t.idle = append(t.idle, c)
	var old *conn
	if len(t.idle) > maxIdle || c.idleSince.Sub(t.idle[0].idleSince) > idleTimeout {
		old = t.idle[0]
		t.idle = append(t.idle[:0], t.idle[1:]...)
	}
	t.mu.Unlock()
	if old != nil {
		old.abort()
	}
}

// CloseIdleConnections closes the connections that wait for a request. http.Client calls it.
func (t *Transport) CloseIdleConnections() {
	for c := t.take(); c != nil; c = t.take() {
		c.abort()
	}
}

// A conn is a connection with one request at a time.
type conn struct {
	raw             net.Conn // below TLS
	reader          *bufio.Reader
	writer          *bufio.Writer
	born, idleSince time.Time
}

// abort closes the connection. It does not wait, unlike the end of TLS.
func (c *conn) abort() { _ = c.raw.Close() }

// exchange writes a request, and reads the answer up to its body.
func (c *conn) exchange(r *http.Request) (*http.Response, error) {
	if err := r.Write(c.writer); err != nil {
		return nil, err
	}
	if err := c.writer.Flush(); err != nil {
		return nil, err
	}
	for {
		response, err := http.ReadResponse(c.reader, r)
		if err != nil {
			return nil, err
		}
		if response.StatusCode >= http.StatusOK {
			return response, nil
		}
	}
}

// A body is that of an answer. Its end makes the connection idle.
type body struct {
	transport *Transport
	ctx       context.Context
	detach    func() bool // ends the effect of ctx on the connection
	from      io.ReadCloser
	last      bool // the server closes the connection

	conn *conn
	once sync.Once
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end(true)
	default:
		b.end(false)
		if b.ctx.Err() != nil {
			err = b.ctx.Err()
		}
	}
	return n, err
}

// Close implements io.Closer. If the answer has not ended, it closes the connection.
func (b *body) Close() error {
	b.end(false)
	return nil
}

// end gives up the connection, which is used again if the answer is complete.
func (b *body) end(complete bool) {
	b.once.Do(func() {
		if b.detach() && complete && !b.last {
			b.transport.keep(b.conn)
			return
		}
		b.conn.abort()
	})
}
