//go:build unix && !linux

package wire

import (
	"net"
	"syscall"
)

// direct returns the connection. Only Linux promises that its system calls stay the same.
func direct(c net.Conn) net.Conn { return c }

// peek returns the error of a read, and leaves what arrived in place.
func peek(fd uintptr, p []byte) error {
	_, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK)
	return err
}
