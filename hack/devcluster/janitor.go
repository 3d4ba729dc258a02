package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// janitorCommand is the command with which the supervisor starts itself as a
// janitor.
const janitorCommand = "janitor"

// janitor is a process that outlives the supervisor for a moment. It reads from a
// pipe what to clean up, and starts when the pipe closes. The kernel closes the
// pipe however the supervisor ends, even by SIGKILL.
type janitor struct {
	cmd *exec.Cmd

	mu   sync.Mutex
	pipe io.WriteCloser
}

func startJanitor() (*janitor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, janitorCommand)
	cmd.Stderr = os.Stderr
	// The janitor has its own session: a signal to the supervisor's group, or a
	// closed terminal, must not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("janitor: %w", err)
	}
	return &janitor{cmd: cmd, pipe: pipe}, nil
}

func (j *janitor) tell(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	// If the janitor is gone, the write fails. On Linux the kernel still kills the
	// components, and a normal end removes the folder.
	_, _ = fmt.Fprintf(j.pipe, format+"\n", args...)
}

func (j *janitor) watch(pid int)     { j.tell("watch %d", pid) }
func (j *janitor) forget(pid int)    { j.tell("forget %d", pid) }
func (j *janitor) remove(dir string) { j.tell("remove %s", dir) }

// close starts the cleanup and waits for it.
func (j *janitor) close() error {
	j.mu.Lock()
	err := j.pipe.Close()
	j.mu.Unlock()
	return errors.Join(err, j.cmd.Wait())
}

// runJanitor is the main function of the janitor: it collects orders until the pipe
// closes.
func runJanitor(orders io.Reader) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	pids := map[int]struct{}{}
	var folders []string
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		pid, _ := strconv.Atoi(arg)
		switch verb {
		case "watch":
			pids[pid] = struct{}{}
		case "forget":
			delete(pids, pid)
		case "remove":
			folders = append(folders, arg)
		}
	}
	for pid := range pids {
		if pid > 1 { // Other values would mean a process group or all processes.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	var failed []error
	for _, dir := range folders {
		failed = append(failed, removeFolder(dir))
	}
	return errors.Join(failed...)
}

// removeFolder removes a folder. It retries, because dying processes may still
// write to the folder.
func removeFolder(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), tempPrefix) {
		return fmt.Errorf("%s: not removed: not a folder that devcluster made", dir)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var err error
	for range 100 {
		err = os.RemoveAll(dir)
		if _, gone := os.Lstat(dir); err == nil && errors.Is(gone, fs.ErrNotExist) {
			return nil
		}
		<-ticker.C
	}
	return err
}
