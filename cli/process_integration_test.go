//go:build integration

package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/internal/devcluster"
)

// A process is `reconcel run`, built and started as a user would.
type process struct {
	*exec.Cmd
	ready chan struct{} // closed when it says that it is running
	done  chan error
}

func buildBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "reconcel")
	if out, err := exec.Command("go", "build", "-o", binary, "reconcel").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

func start(t *testing.T, binary string, cluster *devcluster.Cluster) *process {
	t.Helper()
	p := &process{ready: make(chan struct{}), done: make(chan error, 1)}
	// Without the Lease: a process that is killed would keep the next one waiting.
	p.Cmd = exec.Command(binary, "run", "--leader-elect=false", "-f", "../examples/foo/rules.yaml", "-f", "../examples/databasemanager/rules.yaml",
		"--kubeconfig", cluster.UserKubeconfig(t, "reconcel"), "--listen", "off")
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		log := bufio.NewScanner(stderr)
		for log.Scan() {
			if strings.Contains(log.Text(), "msg=running") {
				close(p.ready)
			}
		}
		_, _ = io.Copy(io.Discard, stderr)
		p.done <- p.Wait()
	}()
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

func (p *process) await(t *testing.T) {
	t.Helper()
	select {
	case <-p.ready:
	case err := <-p.done:
		t.Fatalf("reconcel ended before it was running: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("reconcel did not say within 30 s that it is running")
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) error {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("reconcel was alive 20 s after %s", s)
		return nil
	}
}

func kubectl(t *testing.T, cluster *devcluster.Cluster, args ...string) string {
	t.Helper()
	out, err := cluster.Kubectl(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func writes(t *testing.T, cluster *devcluster.Cluster, since time.Time) map[string]int {
	t.Helper()
	found, err := cluster.Requests(func(r devcluster.Request) bool {
		return r.User == "reconcel" && r.IsWrite() && r.Resource != "leases" && !r.Received.Before(since)
	})
	if err != nil {
		t.Fatal(err)
	}
	return devcluster.Tally(found)
}

// foosManifest is a manifest of n Foos.
func foosManifest(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: foo-%d}\nspec: {deploymentName: web-%d, replicas: 1}\n", i, i)
	}
	return b.String()
}

// TestKilledAndRestarted kills the process at all sorts of moments while it
// creates the children of many Foos, and then at rest.
func TestKilledAndRestarted(t *testing.T) {
	const n = 40
	cluster := devcluster.Start(t, devcluster.Options{})
	binary := buildBinary(t)
	kubectl(t, cluster, "apply", "-f", "../crds/")
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	manifest := filepath.Join(t.TempDir(), "foos.yaml")
	if err := os.WriteFile(manifest, []byte(foosManifest(n)), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, cluster, "apply", "-f", manifest)
	for round := range 6 {
		p := start(t, binary, cluster)
		p.await(t)
		<-time.After(time.Duration(round) * 15 * time.Millisecond) // Somewhere in the middle of its work.
		if err := p.signal(t, syscall.SIGKILL); err == nil {
			t.Fatal("it ended well although it was killed")
		}
	}
	p := start(t, binary, cluster)
	p.await(t)
	kubectl(t, cluster, "wait", "--for=condition=Ready", "foo", "--all", "--timeout=60s")
	names := strings.Fields(kubectl(t, cluster, "get", "deployments", "-o", "name"))
	if len(names) != n {
		t.Errorf("%d Deployments for %d Foos: %v", len(names), n, names)
	}

	rest(t, 5*time.Second)
	since := time.Now()
	if err := p.signal(t, syscall.SIGKILL); err == nil {
		t.Fatal("it ended well although it was killed")
	}
	p = start(t, binary, cluster)
	p.await(t)
	rest(t, 10*time.Second)
	if found := writes(t, cluster, since); len(found) > 0 {
		t.Errorf("writes after a kill at rest: %v", found)
	}
	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}

	// What happened while it was down is mended at the next start.
	kubectl(t, cluster, "delete", "deployment", "web-0")
	kubectl(t, cluster, "scale", "deployment", "web-1", "--replicas=3")
	p = start(t, binary, cluster)
	p.await(t)
	kubectl(t, cluster, "wait", "--for=create", "deployment", "web-0", "--timeout=30s")
	kubectl(t, cluster, "wait", "--for=jsonpath={.spec.replicas}=1", "deployment", "web-1", "--timeout=30s")
}

// rest lets time pass in which nothing must happen.
func rest(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
