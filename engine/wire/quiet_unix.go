//go:build unix

package wire

import (
	"errors"
	"net"
	"syscall"
)

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
