package faultproxy

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// Link forwards connections to an API server byte by byte, including their TLS. Each
// client therefore keeps its own user. A Proxy makes requests fail, a Link the network
// below them.
//
// Orders apply to existing connections and to new ones.
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

// Direction is one of the two directions of a Link.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// Connect starts a Link to the server of a kubeconfig. It runs until the test ends.
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

// Kubeconfig returns the path of a kubeconfig that uses the Link.
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

// Hold holds back data in these directions. The senders do not notice: their connections
// stay open and accept all data.
func (l *Link) Hold(directions ...Direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range directions {
		l.held[d] = true
	}
}

// Release delivers the held data, and ends the hold. It also delivers the data of clients
// that have exited meanwhile.
func (l *Link) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = [2]bool{}
	l.wake.Broadcast()
}

// Cut closes all connections, drops the held data, and ends the hold.
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

// dropLocked closes a connection unless it is already closed.
func (l *Link) dropLocked(conn net.Conn) {
	_ = conn.Close() // There is no way to handle this error.
	delete(l.conns, conn)
}

// add registers a connection, or closes it if the Link has ended.
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
			return // The listener is closed.
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

// stream is the data received from one side and not yet sent to the other.
type stream struct {
	waiting []byte
	ended   bool // no more data follows
	late    bool // it ended during a hold: the other side must not notice
}

// carry forwards data from one side until both have ended.
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
			_, _ = to.Write(chunk) // If it fails, the other side's own end shows that.
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

// next waits for data that may be forwarded, or for the end.
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
