package main

import (
	"errors"
	"os"
	"syscall"
)

// awaitStop waits until all threads of a child have stopped, or it has ended. SIGSTOP
// reaches one thread, which stops the others when it runs: on a busy machine they still
// answer requests for a while.
func awaitStop(pid int) error {
	const byPID = 1
	for {
		// WNOWAIT leaves the end of the process to exec.Cmd.
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0,
			syscall.WSTOPPED|syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		switch {
		case errno == 0, errors.Is(errno, syscall.ECHILD): // exec.Cmd may have been faster.
			return nil
		case !errors.Is(errno, syscall.EINTR):
			return os.NewSyscallError("waitid", errno)
		}
	}
}
