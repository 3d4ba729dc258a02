package gateway

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// network is a listener whose connections can lose all packets.
type network struct {
	net.Listener

	mu    sync.Mutex
	conns map[*conn]struct{}
	lossy bool // new connections lose all packets, too
}

func newNetwork(address string) (*network, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &network{Listener: listener, conns: map[*conn]struct{}{}}, nil
}

// Accept implements net.Listener.
func (n *network) Accept() (net.Conn, error) {
	raw, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &conn{Conn: raw, network: n, closed: make(chan struct{})}
	c.lossy.Store(n.lossy)
	n.conns[c] = struct{}{}
	return c, nil
}

// swallow makes the open connections lose all packets from now on. If all is set, so do
// those that open before restore is called.
func (n *network) swallow(all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lossy = all
	for c := range n.conns {
		c.lossy.Store(true)
	}
}

func (n *network) restore() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lossy = false
}

// cut closes the connections that do not lose packets.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if !c.lossy.Load() {
			_ = c.Conn.Close() // The server notices, and closes it, too.
		}
	}
}

// end closes all connections, also those that have lost packets.
func (n *network) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Conn.Close()
	}
}

// conn is the server's end of a connection.
type conn struct {
	net.Conn
	network *network
	lossy   atomic.Bool

	once   sync.Once
	closed chan struct{} // closed when the server has closed the connection
}

// Read implements net.Conn. A lossy connection drops what arrives, also its end.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		switch {
		case !c.lossy.Load():
			return n, err
		case errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case err != nil:
			<-c.closed
			return 0, net.ErrClosed
		}
	}
}

// Write implements net.Conn. A lossy connection drops the data.
func (c *conn) Write(p []byte) (int, error) {
	if c.lossy.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn. The client of a lossy connection does not notice it.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	if c.lossy.Load() {
		return c.Conn.SetReadDeadline(time.Unix(1, 0)) // It ends Read.
	}
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	delete(c.network.conns, c)
	return c.Conn.Close()
}
