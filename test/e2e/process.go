package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
)

// built is the program, which each package builds once.
var built = sync.OnceValues(func() (string, error) { return devcluster.Build("reconcel-under-test", ".") })

// Build builds the program and returns a copy that no later build replaces, or returns
// the path in RECONCEL_BINARY.
func Build(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("RECONCEL_BINARY"); given != "" {
		return given
	}
	original, err := built()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "reconcel")
	// A copy by this process could be busy when it starts: while it is written, other
	// tests fork.
	if out, err := exec.Command("cp", original, binary).CombinedOutput(); err != nil {
		t.Fatalf("copy: %v\n%s", err, out)
	}
	return binary
}

// Environment returns the environment of the test without the settings of tests, which the
// program would reject.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "RECONCEL_") })
}

// Process is a running `reconcel run`.
type Process struct {
	*exec.Cmd
	Name    string // for messages of the test
	LogFile string

	t    *testing.T
	done chan struct{}
	end  error // valid once done is closed
}

// Command is a `reconcel run` to start.
type Command struct {
	Binary string
	Name   string   // for messages of the test
	Args   []string // after "run"
	Env    []string // in addition to the test's own environment without RECONCEL_*
}

// Start starts the process. The end of the test kills it, and prints the end of its log
// if the test has failed.
func (c Command) Start(t *testing.T) *Process {
	t.Helper()
	p := &Process{Name: c.Name, LogFile: filepath.Join(t.TempDir(), c.Name+".log"), t: t, done: make(chan struct{})}
	log, err := os.Create(p.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd = exec.Command(c.Binary, slices.Concat([]string{"run"}, c.Args)...)
	p.Stdout, p.Stderr = log, log
	p.Env = append(Environment(), c.Env...)
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.end = p.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.Kill()
		_ = log.Close()
		if t.Failed() {
			text := p.Log()
			t.Logf("end of the log of %s:\n%s", p.Name, text[max(0, len(text)-8<<10):])
		}
	})
	return p
}

// Log returns all that the process has logged and printed.
func (p *Process) Log() string {
	p.t.Helper()
	log, err := os.ReadFile(p.LogFile)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(log)
}

// Logged reports whether the process has logged a text.
func (p *Process) Logged(text string) bool {
	p.t.Helper()
	return strings.Contains(p.Log(), text)
}

// Logs waits until the process has logged a text, and returns the duration.
func (p *Process) Logs(text string, within time.Duration) time.Duration {
	p.t.Helper()
	return Poll(p.t, fmt.Sprintf("%s to log %q", p.Name, text), within, 20*time.Millisecond, func() error {
		ended := p.Ended()
		if p.Logged(text) {
			return nil
		}
		if ended {
			p.t.Fatalf("%s ended before it logged %q: %v", p.Name, text, p.end)
		}
		return errors.New("it has not yet")
	})
}

// Runs waits until the process logs that it runs.
func (p *Process) Runs() {
	p.t.Helper()
	p.Logs("msg=running", time.Minute)
}

// Ended reports whether the process has exited.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.Name, err)
	}
}

// Ends waits until the process has exited, and returns its exit error.
func (p *Process) Ends(within time.Duration) error {
	p.t.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.end
	case <-timer.C:
		p.t.Fatalf("%s did not end within %s", p.Name, within)
		return nil
	}
}

// Kill ends the process as a crash does, and waits until it has exited.
func (p *Process) Kill() {
	_ = p.Process.Kill() // It fails if the process has exited.
	<-p.done
}
