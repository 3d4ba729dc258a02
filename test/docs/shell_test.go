package docs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shell runs the commands of a page in order, as a reader types them.
type shell struct {
	folder  string
	cluster bool // whether it has a cluster
	in      io.Writer
	out     *output
	n       int // of commands so far
}

// output collects what commands print.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// until returns the output before the first match of a pattern and the match's first
// group. It removes both from the buffer.
func (o *output) until(end *regexp.Regexp) (before, group string, found bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := end.FindSubmatchIndex(o.buffer.Bytes())
	if at == nil {
		return o.buffer.String(), "", false
	}
	text := o.buffer.String()
	o.buffer.Next(at[1])
	return text[:at[0]], text[at[2]:at[3]], true
}

// newShell starts bash in a new folder with copies of the files that pages refer to.
// Without a kubeconfig it has no cluster.
func newShell(t *testing.T, path, kubeconfig string) *shell {
	t.Helper()
	s := &shell{folder: t.TempDir(), cluster: kubeconfig != "", out: &output{}}
	for _, folder := range []string{"examples", "crds"} {
		if err := os.CopyFS(filepath.Join(s.folder, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	reconcel, err := exec.LookPath("reconcel")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(s.folder, "bin"), 0o700), os.Symlink(reconcel, filepath.Join(s.folder, "bin/reconcel"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--norc")
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+s.folder, "KUBECONFIG="+cmp.Or(kubeconfig, "/nowhere"), "NO_COLOR=1", "RECONCEL_LISTEN=off")
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.in = in
	t.Cleanup(func() {
		_ = in.Close()
		// Background jobs get the chance of an orderly exit, and are killed after a
		// while.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer kill.Stop()
		_ = cmd.Wait()
	})
	return s
}

// run runs a command in the shell, and returns what it prints and its exit code.
func (s *shell) run(t *testing.T, command string) (text string, exitCode int) {
	t.Helper()
	s.n++
	mark := fmt.Sprintf("end of command %d:", s.n)
	// A command must not read the following commands from stdin. The last line preserves
	// $?.
	script := fmt.Sprintf("{ %s\n} </dev/null\n__code=$?; echo \"%s $__code.\"; (exit $__code)\n", command, mark)
	if _, err := io.WriteString(s.in, script); err != nil {
		t.Fatalf("$ %s: %v", command, err)
	}
	end := regexp.MustCompile(regexp.QuoteMeta(mark) + ` (\d+)\.\n`)
	deadline := time.Now().Add(2 * time.Minute)
	for {
		text, exit, found := s.out.until(end)
		if found {
			exitCode, _ = strconv.Atoi(exit)
			return text, exitCode
		}
		if time.Now().After(deadline) {
			t.Fatalf("$ %s does not end; so far it has printed\n%s", command, text)
		}
		pause(t, 5*time.Millisecond)
	}
}

func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.FailNow()
	}
}
