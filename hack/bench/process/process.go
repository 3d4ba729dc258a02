package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Command is a process to start.
type Command struct {
	Binary string
	Args   []string
	Log    string // file for its output, created or appended to
}

// Process is a running process.
type Process struct {
	// Stdin is the standard input of the process.
	Stdin io.Writer

	cmd      *exec.Cmd
	log      *os.File
	stopping atomic.Bool
	exited   chan struct{}
}

// Start starts the process. The environment is that of the caller without RECONCEL_*,
// which would be settings of reconcel. If the process ends before Stop, died is called
// once with the reason and the end of the log.
func (c Command) Start(died func(error)) (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(c.Binary, c.Args...), log: log, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "RECONCEL_") })
	stdin, err := p.cmd.StdinPipe()
	if err == nil {
		p.Stdin = stdin
		err = p.cmd.Start()
	}
	if err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%s: %w", c.Binary, err)
	}
	go func() {
		err := p.cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		_ = log.Close()
		if !p.stopping.Load() {
			died(fmt.Errorf("%s ended by itself: %w\n%s", filepath.Base(c.Binary), err, Tail(c.Log)))
		}
		close(p.exited)
	}()
	return p, nil
}

// Usage returns what the process has used so far.
func (p *Process) Usage() (Usage, error) { return ReadUsage(p.cmd.Process.Pid) }

// stopTimeout is longer than an orderly shutdown takes.
const stopTimeout = 30 * time.Second

// Stop asks the process to end, and kills it after 30 seconds or when ctx ends. It returns
// when the process has ended. Further calls do nothing.
func (p *Process) Stop(ctx context.Context) {
	p.stopping.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // It fails if the process has ended.
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Tail returns the end of a log for a message.
func Tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const limit = 4 << 10
	return string(text[max(0, len(text)-limit):])
}
