package main

import (
	"os/exec"
	"runtime"
)

// starter starts processes from one thread that lives as long as this process.
//
// Linux ties a child's parent-death signal to the thread that started it, and Go
// ends threads as it likes: without this, a component could be killed because a
// goroutine's thread went away.
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

// close ends the thread, and with it every process that is still running.
func (s *starter) close() { close(s.requests) }
