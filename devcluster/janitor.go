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

// janitorCommand is what the supervisor starts itself as, a second time.
const janitorCommand = "janitor"

// janitor is a process that outlives the supervisor by a moment. It reads what
// there is to clean up from a pipe, and does it when the pipe closes, which the
// kernel does however the supervisor ends, SIGKILL included.
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
	// A session of its own: whoever kills the supervisor's group or closes its
	// terminal must not reach the one who cleans up after that.
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
	// A janitor that is gone cannot be told. The kernel still ends the
	// components on Linux, and an orderly end removes the folder.
	_, _ = fmt.Fprintf(j.pipe, format+"\n", args...)
}

func (j *janitor) watch(pid int)     { j.tell("watch %d", pid) }
func (j *janitor) forget(pid int)    { j.tell("forget %d", pid) }
func (j *janitor) remove(dir string) { j.tell("remove %s", dir) }

// close lets the janitor do its work and waits for it.
func (j *janitor) close() error {
	j.mu.Lock()
	err := j.pipe.Close()
	j.mu.Unlock()
	return errors.Join(err, j.cmd.Wait())
}

// runJanitor is the janitor's side: it gathers orders until there are no more.
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
		if pid > 1 { // Anything else would name a whole group, or all processes.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	var failed []error
	for _, dir := range folders {
		failed = append(failed, removeFolder(dir))
	}
	return errors.Join(failed...)
}

// removeFolder removes a folder in which dying processes may still write.
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
