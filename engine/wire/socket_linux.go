package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// A socket is a TCP connection that calls the kernel without telling Go's scheduler.
//
// Before each read and write of package net, the scheduler notes that the thread may block, and
// wakes its monitor, which then looks every 20 µs whether it does. The sockets of package net
// never block: the kernel answers at once that there is nothing to read, and the goroutine waits
// for the poller. Without the notes, a controller takes a quarter less CPU time (measured by
// make bench-cluster with 2,000 Foos). The monitor still wakes for timers, so it interrupts a
// goroutine that computes for long later than usual.
//
// Like a tls.Conn above it, at most one goroutine may read, and one write, at a time.
type socket struct {
	net.Conn
	raw      syscall.RawConn
	in, out  transfer
	tryRead  func(fd uintptr) bool // of raw; kept, because a method value is allocated
	tryWrite func(fd uintptr) bool
}

// transfer is one call of the kernel and its result.
type transfer struct {
	p     []byte
	n     int
	errno syscall.Errno
}

// direct returns a connection that reads and writes directly, if it knows how.
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
	s.tryRead = func(fd uintptr) bool { return s.in.try(syscall.SYS_READ, fd) }
	s.tryWrite = func(fd uintptr) bool { return s.out.try(syscall.SYS_WRITE, fd) }
	return s
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.in.p = p
	err := s.raw.Read(s.tryRead)
	s.in.p = nil
	switch {
	case err != nil:
		return 0, s.failed("read", err)
	case s.in.errno != 0:
		return 0, s.failed("read", os.NewSyscallError("read", s.in.errno))
	case s.in.n == 0:
		return 0, io.EOF
	}
	return s.in.n, nil
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (written int, err error) {
	for written < len(p) {
		s.out.p = p[written:]
		err := s.raw.Write(s.tryWrite)
		s.out.p = nil
		switch {
		case err != nil:
			return written, s.failed("write", err)
		case s.out.errno != 0:
			return written, s.failed("write", os.NewSyscallError("write", s.out.errno))
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

// try calls the kernel, and reports whether it did not have to wait.
func (t *transfer) try(call, fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.p))), uintptr(len(t.p)))
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		}
		t.n, t.errno = int(n), errno
		return true
	}
}

// peek returns the error of a read, and leaves what arrived in place.
func peek(fd uintptr, p []byte) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_PEEK, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
