//go:build integration

package examples

import (
	"errors"
	"strings"
	"syscall"

	"reconcel/internal/e2e"
)

// A process is `reconcel run` on the rules of an example, as a user starts it.
type process struct {
	*e2e.Process
	w *world
}

func (w *world) start(kubeconfig string) *process {
	w.Helper()
	args := []string{"--kubeconfig", kubeconfig, "--namespace", w.Namespace, "--name", w.Namespace, "--listen", "off", "--log-level", "debug"}
	args = append(args, w.followed()...)
	for _, file := range w.files {
		args = append(args, "-f", file)
	}
	// Without the Lease in general: a process that is killed would keep the next one waiting.
	env := append([]string{"RECONCEL_LEADER_ELECT=false"}, w.environment...)
	w.process = &process{w: w, Process: e2e.Command{Binary: w.binary, Name: "reconcel", Args: args, Env: env}.Start(w.T)}
	return w.process
}

// await waits until the process says that it is running. Nobody else has to: what
// it is for shows in the cluster.
func (p *process) await() {
	p.w.Helper()
	p.w.eventually("the process to run", p.running)
}

// running says whether the process has begun to work.
func (p *process) running() error {
	if !p.ran() {
		return errors.New("it has not said so")
	}
	return nil
}

// ran reports whether the process has said that it is running.
func (p *process) ran() bool { return p.Logged("msg=running") }

// kill ends the process as a crash of the machine would.
func (p *process) kill() {
	p.w.Helper()
	p.alive()
	p.Kill()
	p.check(p.Log())
	p.w.process = nil
}

// end ends the process as Kubernetes would, and looks at how it took it.
func (p *process) end() {
	p.w.Helper()
	p.await() // Before, it does not know that there is anything to end.
	p.alive()
	p.w.process = nil
	before := p.Log() // Later client-go says of each request that it was told to stop.
	p.Signal(syscall.SIGTERM)
	if err := p.Ends(e2e.Patience); err != nil {
		p.w.Errorf("after SIGTERM: %v", err)
	}
	p.check(before)
}

// alive fails if the process has ended by itself.
func (p *process) alive() {
	p.w.Helper()
	if p.Ended() {
		p.w.Fatalf("it ended by itself: %v", p.Ends(0))
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
