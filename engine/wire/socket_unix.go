//go:build unix

package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// A socket is a TCP connection that, on Linux, makes system calls without telling Go's scheduler.
//
// Before a system call that may block, the scheduler notes that it may lose the thread. If all
// threads were idle, it also wakes its monitor, which looks for lost threads every 20 µs for about
// a millisecond. A controller is idle most of the time, so nearly every answer and event wakes the
// monitor again. The system calls of package net do not wait for the network: if nothing can be
// read or written, the kernel says so, and the goroutine waits for Go's poller. Without the notes,
// reconcel takes a fifth less CPU time (2,000 Foos, three rounds with and without them).
//
// The monitor also interrupts goroutines that compute for more than 10 ms. While it sleeps, it
// cannot, until the next of the timers that were set when it fell asleep. reconcel run has one
// every 0.2 s, unless GOMAXPROCS is set.
//
// Unlike other connections, a socket allows only one Read and one Write at a time. Package wire has
// one request at a time on a connection, and tls.Conn has locks for both.
type socket struct {
	net.Conn
	raw     syscall.RawConn
	in, out attempt
}

// An attempt is a system call for raw, and its last result. It is kept, because a closure is
// allocated.
type attempt struct {
	once func(fd uintptr) (done bool)
	p    []byte
	n    int
	err  error
}

// direct returns a socket for a TCP connection of package net, and other connections as they are.
func direct(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	s := &socket{Conn: c, raw: raw}
	s.in.once = func(fd uintptr) bool { return s.in.call(read, fd) }
	s.out.once = func(fd uintptr) bool { return s.out.call(write, fd) }
	return s
}

// call makes a system call, and reports whether it has a result.
func (a *attempt) call(call func(uintptr, []byte) (int, error), fd uintptr) bool {
	for {
		a.n, a.err = call(fd, a.p)
		if !errors.Is(a.err, syscall.EINTR) {
			return !errors.Is(a.err, syscall.EAGAIN)
		}
	}
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.in.p = p
	err := s.raw.Read(s.in.once)
	s.in.p = nil
	switch {
	case err != nil:
		return 0, s.failed("read", err)
	case s.in.err != nil:
		return 0, s.failed("read", os.NewSyscallError("read", s.in.err))
	case s.in.n == 0:
		return 0, io.EOF
	}
	return s.in.n, nil
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (written int, err error) {
	for written < len(p) {
		s.out.p = p[written:]
		err := s.raw.Write(s.out.once)
		s.out.p = nil
		switch {
		case err != nil:
			return written, s.failed("write", err)
		case s.out.err != nil:
			return written, s.failed("write", os.NewSyscallError("write", s.out.err))
		case s.out.n == 0:
			return written, s.failed("write", io.ErrUnexpectedEOF)
		}
		written += s.out.n
	}
	return written, nil
}

// SyscallConn implements syscall.Conn.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// failed returns an error as package net does.
func (s *socket) failed(call string, err error) error {
	if own, ok := errors.AsType[*net.OpError](err); ok {
		err = own.Err // It names another call.
	}
	return &net.OpError{Op: call, Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}

// isQuiet reports whether the server has neither closed an idle connection nor sent
// anything on it.
func isQuiet(c net.Conn) bool {
	of, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var next [1]byte
		quiet = errors.Is(peek(fd, next[:]), syscall.EAGAIN)
		return true
	})
	return quiet && err == nil
}
