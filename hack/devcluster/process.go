package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one component with its process, if it runs.
type process struct {
	component
	logFile string
	env     []string
	starter *starter
	janitor *janitor
	// ended is called when the process ends unexpectedly.
	ended func(p *process, err error)

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has been waited for
	asked  bool          // the process was asked to end
	paused bool
}

// start starts the process. It does not wait until the component is ready.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runningLocked() {
		return refusedError(p.name + " is running already")
	}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append(p.command[1:len(p.command):len(p.command)], p.args...)
	cmd := exec.Command(p.command[0], args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = p.env
	cmd.Dir = filepath.Dir(p.logFile)
	// The component has its own group, so that Ctrl-C in a terminal reaches only
	// the supervisor. The supervisor then stops the components in order.
	cmd.SysProcAttr = childAttributes()
	if err := p.starter.start(cmd); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.janitor.watch(cmd.Process.Pid)
	exited := make(chan struct{})
	p.cmd, p.exited, p.asked, p.paused = cmd, exited, false, false
	go func() {
		err := cmd.Wait()
		p.janitor.forget(cmd.Process.Pid)
		p.mu.Lock()
		asked := p.asked
		p.mu.Unlock()
		close(exited)
		if !asked {
			p.ended(p, err)
		}
	}()
	return nil
}

func (p *process) runningLocked() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// answers reports whether the process runs and is not paused, so that it can become
// ready.
func (p *process) answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runningLocked() && !p.paused
}

// endedByItself reports whether the process ended unexpectedly.
func (p *process) endedByItself() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && !p.runningLocked() && !p.asked
}

// stop asks the process to end, and kills it after the grace period.
func (p *process) stop(grace time.Duration) error {
	exited, err := p.end(syscall.SIGTERM)
	if err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-exited:
		return nil
	case <-timer.C:
		return p.kill()
	}
}

// kill ends the process as a crash would.
func (p *process) kill() error {
	exited, err := p.end(syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-exited
	return nil
}

func (p *process) end(signal syscall.Signal) (exited <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runningLocked() {
		return nil, refusedError(p.name + " is not running")
	}
	p.asked = true
	if err := p.signalLocked(signal); err != nil {
		return nil, err
	}
	if p.paused {
		// A paused process handles SIGTERM only after it continues.
		p.paused = false
		return p.exited, p.signalLocked(syscall.SIGCONT)
	}
	return p.exited, nil
}

func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runningLocked() {
		return refusedError(p.name + " is not running")
	}
	p.paused = true
	if err := p.signalLocked(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStop(p.cmd.Process.Pid)
}

func (p *process) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused {
		return refusedError(p.name + " is not paused")
	}
	p.paused = false
	return p.signalLocked(syscall.SIGCONT)
}

func (p *process) signalLocked(signal syscall.Signal) error {
	err := p.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return nil // The process has just ended.
	}
	return err
}

// status returns one line such as "kube-scheduler  running  pid 4711".
func (p *process) status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.runningLocked():
		return fmt.Sprintf("%-24s stopped", p.name)
	case p.paused:
		return fmt.Sprintf("%-24s paused   pid %d", p.name, p.cmd.Process.Pid)
	default:
		return fmt.Sprintf("%-24s running  pid %d", p.name, p.cmd.Process.Pid)
	}
}

// logTail returns the end of the component's log, indented, with its path.
func (p *process) logTail() string {
	const lines, bytes = 12, 16 << 10
	log, err := readTail(p.logFile, bytes)
	if err != nil {
		return fmt.Sprintf("  (no log of %s: %v)", p.name, err)
	}
	if strings.TrimSpace(log) == "" {
		return fmt.Sprintf("  (%s is empty)", p.logFile)
	}
	return fmt.Sprintf("  the end of %s:\n    %s", p.logFile, strings.ReplaceAll(lastLines(log, lines), "\n", "\n    "))
}

func readTail(path string, bytes int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	offset := max(0, info.Size()-bytes)
	text := make([]byte, info.Size()-offset)
	n, err := file.ReadAt(text, offset)
	if n == 0 && err != nil && info.Size() > 0 {
		return "", err
	}
	return string(text[:n]), nil
}

// refusedError says that a component is in the wrong state for a command.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }
