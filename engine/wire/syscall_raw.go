//go:build linux && !386 && !race

package wire

import (
	"syscall"
	"unsafe"
)

// The system calls of a socket, without a note to Go's scheduler.

func read(fd uintptr, p []byte) (int, error) { return transfer(syscall.SYS_READ, fd, p) }

func write(fd uintptr, p []byte) (int, error) { return transfer(syscall.SYS_WRITE, fd, p) }

func transfer(call, fd uintptr, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func peek(fd uintptr, p []byte) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_PEEK, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
