//go:build integration

package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// build builds the binary that is tried out.
func build(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("RECONCEL_BINARY"); given != "" {
		return given
	}
	binary := filepath.Join(t.TempDir(), "reconcel")
	if out, err := exec.Command("go", "build", "-o", binary, "reconcel").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// A process is `reconcel run` on the rules of an example, as a user starts it.
type process struct {
	w      *world
	cmd    *exec.Cmd
	log    *journal
	exited chan struct{} // closed when it has ended
	err    error         // how, once exited is closed
}

func (w *world) start(kubeconfig string) *process {
	w.Helper()
	args := []string{"run", "--kubeconfig", kubeconfig, "--namespace", w.namespace, "--name", w.namespace, "--listen", "off", "--log-level", "debug"}
	args = append(args, w.followed()...)
	for _, file := range w.files {
		args = append(args, "-f", file)
	}
	p := &process{w: w, cmd: exec.Command(w.binary, args...), log: newJournal(), exited: make(chan struct{})}
	p.cmd.Stderr = p.log
	// These would be its settings.
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "RECONCEL_") })
	// Without the Lease in general: a process that is killed would keep the next one waiting.
	p.cmd.Env = append(append(p.cmd.Env, "RECONCEL_LEADER_ELECT=false"), w.environment...)
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	w.processes = append(w.processes, p)
	w.process = p
	return p
}

// await waits until the process says that it is running. Nobody else has to: what
// it is for shows in the cluster.
func (p *process) await() {
	p.w.Helper()
	late, look := time.After(deadline), time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-p.log.running:
			return
		case <-p.exited:
			p.w.Fatalf("it ended before it was running: %v", p.err)
		case <-look.C:
			p.w.endsIfRefused()
		case <-late:
			p.w.Fatalf("it did not say within %s that it is running", deadline)
		}
	}
}

// ran reports whether the process has said that it is running.
func (p *process) ran() bool {
	select {
	case <-p.log.running:
		return true
	default:
		return false
	}
}

// kill ends the process as a crash of the machine would.
func (p *process) kill() {
	p.w.Helper()
	p.alive()
	_ = p.cmd.Process.Kill() // Fails where it has ended.
	<-p.exited
	p.check(p.log.String())
	p.w.process = nil
}

// end ends the process as Kubernetes would, and looks at how it took it.
func (p *process) end() {
	p.w.Helper()
	p.await() // Before, it does not know that there is anything to end.
	p.alive()
	p.w.process = nil
	before := p.log.String() // Later client-go says of each request that it was told to stop.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.w.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(deadline):
		p.w.Fatalf("it did not end within %s of SIGTERM", deadline)
	}
	if p.err != nil {
		p.w.Errorf("after SIGTERM: %v", p.err)
	}
	p.check(before)
}

// alive fails if the process has ended by itself.
func (p *process) alive() {
	p.w.Helper()
	select {
	case <-p.exited:
		p.w.Fatalf("it ended by itself: %v", p.err)
	default:
	}
}

// check looks for what must never stand in a log.
func (p *process) check(log string) {
	p.w.Helper()
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic:") {
			p.w.Errorf("its log says: %s", line)
		}
	}
}

// A journal is what a process has written.
type journal struct {
	mu      sync.Mutex
	b       bytes.Buffer
	running chan struct{} // closed when it says that it is running
	said    bool          // that it is running
}

func newJournal() *journal { return &journal{running: make(chan struct{})} }

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.b.Write(p)
	if !j.said && bytes.Contains(j.b.Bytes(), []byte("msg=running")) {
		j.said = true
		close(j.running)
	}
	return len(p), nil
}

// String implements fmt.Stringer.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}
