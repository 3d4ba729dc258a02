package main

import (
	"os/exec"
	"runtime"
)

// starter starts processes from one thread that exists as long as this process.
//
// Linux binds the parent-death signal of a child to the thread that started it, and
// Go may end a thread at any time. Without this thread, the kernel could kill a
// component because a goroutine's thread ended.
type starter struct {
	requests chan startRequest
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest)}
	go func() {
		runtime.LockOSThread()
		for r := range s.requests {
			r.done <- r.cmd.Start()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	s.requests <- startRequest{cmd, done}
	return <-done
}

// close ends the thread. On Linux, this kills every process that still runs.
func (s *starter) close() { close(s.requests) }
