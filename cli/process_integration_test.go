//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// startWithoutLease starts a process that works at once. A process that is killed while
// it holds the Lease would delay the next one.
func startWithoutLease(t *testing.T, binary string, cluster *devcluster.Cluster) *e2e.Process {
	t.Helper()
	return startAs(t, binary, cluster, "reconcel", "--leader-elect=false", "--listen=off",
		"-f", "../examples/foo/rules.yaml", "-f", "../examples/databasemanager/rules.yaml")
}

// startAs starts a process as a user of the cluster.
func startAs(t *testing.T, binary string, cluster *devcluster.Cluster, user string, args ...string) *e2e.Process {
	t.Helper()
	args = append([]string{"--kubeconfig", cluster.UserKubeconfig(t, user)}, args...)
	return e2e.Command{Binary: binary, Name: user, Args: args}.Start(t)
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

func foosManifest(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: foo-%d}\nspec: {deploymentName: web-%d, replicas: 1}\n", i, i)
	}
	return b.String()
}

// TestKilledAndRestarted kills the process at various moments while it creates the
// children of many Foos, and then once it is idle.
func TestKilledAndRestarted(t *testing.T) {
	t.Parallel()
	const n = 40
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	binary := e2e.Build(t)
	manifest := filepath.Join(t.TempDir(), "foos.yaml")
	if err := os.WriteFile(manifest, []byte(foosManifest(n)), 0o600); err != nil {
		t.Fatal(err)
	}
	e2e.Kubectl(t, cluster, "apply", "-f", manifest)
	for round := range 6 {
		p := startWithoutLease(t, binary, cluster)
		p.Runs()
		<-time.After(time.Duration(round) * 15 * time.Millisecond) // Somewhere in the middle of its work.
		p.Kill()
	}
	p := startWithoutLease(t, binary, cluster)
	p.Runs()
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Ready", "foo", "--all", "--timeout=60s")
	names := strings.Fields(e2e.Kubectl(t, cluster, "get", "deployments", "-o", "name"))
	if len(names) != n {
		t.Errorf("%d Deployments for %d Foos: %v", len(names), n, names)
	}

	e2e.Rest(t, 5*time.Second)
	since := time.Now()
	p.Kill()
	p = startWithoutLease(t, binary, cluster)
	p.Runs()
	e2e.Rest(t, 10*time.Second)
	if found := writes(t, cluster, since); len(found) > 0 {
		t.Errorf("writes after a kill at rest: %v", found)
	}
	p.Signal(syscall.SIGTERM)
	if err := p.Ends(20 * time.Second); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}

	// The next start repairs drift from the time without a process.
	e2e.Kubectl(t, cluster, "delete", "deployment", "web-0")
	e2e.Kubectl(t, cluster, "scale", "deployment", "web-1", "--replicas=3")
	p = startWithoutLease(t, binary, cluster)
	p.Runs()
	e2e.Kubectl(t, cluster, "wait", "--for=create", "deployment", "web-0", "--timeout=30s")
	e2e.Kubectl(t, cluster, "wait", "--for=jsonpath={.spec.replicas}=1", "deployment", "web-1", "--timeout=30s")
}
