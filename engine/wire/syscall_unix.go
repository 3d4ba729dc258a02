//go:build unix && (!linux || 386 || race)

package wire

import "syscall"

// The system calls of a socket. The race detector knows these.

func read(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

func write(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

func peek(fd uintptr, p []byte) error {
	_, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK)
	return err
}
