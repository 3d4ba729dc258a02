//go:build integration

package examples

import (
	"errors"
	"strings"
	"syscall"

	"reconcel/test/e2e"
)

// process is `reconcel run` on the rules of an example, started as a user starts it.
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
	// Most tests run without the Lease: a killed process would delay the next one.
	env := append([]string{"RECONCEL_LEADER_ELECT=false"}, w.environment...)
	w.process = &process{w: w, Process: e2e.Command{Binary: w.binary, Name: "reconcel", Args: args, Env: env}.Start(w.T)}
	return w.process
}

// await waits until the process logs that it runs. Only tests that end it need this: all
// others check the cluster.
func (p *process) await() {
	p.w.Helper()
	p.w.eventually("the process to run", p.running)
}

// running returns an error until the process has started to work.
func (p *process) running() error {
	if !p.ran() {
		return errors.New("it has not said so")
	}
	return nil
}

// ran reports whether the process has logged that it runs.
func (p *process) ran() bool { return p.Logged("msg=running") }

// kill ends the process as a crash of the machine does.
func (p *process) kill() {
	p.w.Helper()
	p.alive()
	p.Kill()
	p.check(p.Log())
	p.w.process = nil
}

// end ends the process as Kubernetes does, and checks its exit.
func (p *process) end() {
	p.w.Helper()
	p.await() // Before that, the process handles no signal.
	p.alive()
	p.w.process = nil
	before := p.Log() // After the signal, client-go logs each cancelled request.
	p.Signal(syscall.SIGTERM)
	if err := p.Ends(e2e.Patience); err != nil {
		p.w.Errorf("after SIGTERM: %v", err)
	}
	p.check(before)
}

// alive fails if the process has exited on its own.
func (p *process) alive() {
	p.w.Helper()
	if p.Ended() {
		p.w.Fatalf("it ended by itself: %v", p.Ends(0))
	}
}

// check searches a log for messages that must never occur.
func (p *process) check(log string) {
	p.w.Helper()
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic:") {
			p.w.Errorf("its log says: %s", line)
		}
	}
}
