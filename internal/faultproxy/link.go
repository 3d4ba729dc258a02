package faultproxy

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// A Link carries connections to an API server byte by byte, with the TLS that is
// in them: whoever comes through it stays the user that he is. A Proxy lets
// requests go wrong, a Link the network below them.
//
// Orders hold for the connections that there are and for those to come.
type Link struct {
	kubeconfig string // that leads to the server
	target     string
	listener   net.Listener
	running    sync.WaitGroup

	mu     sync.Mutex
	wake   *sync.Cond // something below has changed
	held   [2]bool    // by direction
	conns  map[net.Conn]struct{}
	closed bool
}

// A Direction is one of the two in which a Link carries.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// Connect starts a Link to the server that a kubeconfig names. It lives until the
// test ends.
func Connect(t testing.TB, kubeconfig string) *Link {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	l, err := link(server.Host)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	l.kubeconfig = kubeconfig
	t.Cleanup(l.close)
	return l
}

func link(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{target: target, listener: listener, conns: map[net.Conn]struct{}{}}
	l.wake = sync.NewCond(&l.mu)
	l.running.Go(l.accept)
	return l, nil
}

// Kubeconfig returns the path of a kubeconfig that leads through the Link.
func (l *Link) Kubeconfig(t testing.TB) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + l.listener.Addr().String()
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	return path
}

// Hold keeps back what is sent in these directions. The senders do not notice:
// their connections stay open, and take everything.
func (l *Link) Hold(directions ...Direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range directions {
		l.held[d] = true
	}
}

// Release delivers what was held, and holds nothing any more. What a client sent
// that has ended meanwhile is delivered as if it were still there.
func (l *Link) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = [2]bool{}
	l.wake.Broadcast()
}

// Cut ends all connections, loses what was held, and holds nothing any more.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		l.dropLocked(conn)
	}
	l.held = [2]bool{}
	l.wake.Broadcast()
}

func (l *Link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.Cut()
	l.running.Wait()
}

// dropLocked ends a connection, if that has not been done before.
func (l *Link) dropLocked(conn net.Conn) {
	_ = conn.Close() // Nothing is left to be done about it.
	delete(l.conns, conn)
}

// add notes a connection, or ends it if it comes too late.
func (l *Link) add(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[conn] = struct{}{}
	if l.closed {
		l.dropLocked(conn)
	}
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // Closed.
		}
		server, err := net.Dial("tcp", l.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.add(client)
		l.add(server)
		l.carry(client, server, ToServer)
		l.carry(server, client, ToClient)
	}
}

// A stream is what has come from one side and has not gone to the other yet.
type stream struct {
	waiting []byte
	ended   bool // nothing more will come
	late    bool // it ended while it was held: the other side is not to know
}

// carry passes on what comes from one side until both have ended.
func (l *Link) carry(from, to net.Conn, d Direction) {
	s := &stream{}
	l.running.Go(func() { l.take(from, d, s) })
	l.running.Go(func() { l.give(to, d, s) })
}

func (l *Link) take(from net.Conn, d Direction, s *stream) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		s.waiting = append(s.waiting, buffer[:n]...)
		if err != nil {
			_, open := l.conns[from]
			s.ended, s.late = true, open && l.held[d]
			l.wake.Broadcast()
			l.mu.Unlock()
			return
		}
		l.wake.Broadcast()
		l.mu.Unlock()
	}
}

func (l *Link) give(to net.Conn, d Direction, s *stream) {
	for {
		chunk, late, more := l.next(to, d, s)
		if len(chunk) > 0 {
			_, _ = to.Write(chunk) // If that fails, the other side's own end tells.
		}
		if more {
			continue
		}
		if !late {
			l.mu.Lock()
			l.dropLocked(to)
			l.mu.Unlock()
		}
		return
	}
}

// next waits for something that may be passed on, or for the end.
func (l *Link) next(to net.Conn, d Direction, s *stream) (chunk []byte, late, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		_, open := l.conns[to]
		switch {
		case !open:
			return nil, s.late, false
		case l.held[d]:
		case len(s.waiting) > 0:
			chunk, s.waiting = s.waiting, nil
			return chunk, s.late, true
		case s.ended:
			return nil, s.late, false
		}
		l.wake.Wait()
	}
}
