//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

// hostname is what the identity of a process begins with.
func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOneLeads takes the lead away from one replica after another, in each of the
// ways in which that happens.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{})
	binary := e2e.Build(t)
	e2e.Kubectl(t, cluster, "apply", "-f", "../crds/samplecontroller.k8s.io_foos.yaml")
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	stand := func() *e2e.Process {
		t.Helper()
		return startAs(t, binary, cluster, "reconcel", "-f", "../examples/foo/rules.yaml", "--listen", "off", "--namespace", "default")
	}
	made := 0
	// works checks that somebody makes what a new Foo wants.
	works := func() {
		t.Helper()
		name := fmt.Sprintf("foo-%d", made)
		made++
		manifest := filepath.Join(t.TempDir(), name+".yaml")
		text := fmt.Sprintf("apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: %s}\nspec: {deploymentName: %s, replicas: 1}\n", name, name)
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e2e.Kubectl(t, cluster, "apply", "-f", manifest)
		e2e.Kubectl(t, cluster, "wait", "--for=create", "deployment", name, "--timeout=10s")
	}
	first := stand()
	first.Logs("msg=running", 30*time.Second)
	second := stand()
	// It is compared with the time that a process takes to start.
	second.Logs("msg=starting", 30*time.Second)
	if took := second.Logs(`msg="standing by" lease=default/reconcel holder=`+hostname(t), 10*time.Second); took > 2*time.Second {
		t.Errorf("it took %s until a second process said who leads", took)
	}
	second.Logs("a second installation needs another --name", time.Second)
	works()

	// One that is asked to stop gives the Lease back.
	first.Signal(syscall.SIGTERM)
	if took := second.Logs("msg=running", 10*time.Second); took > 3*time.Second {
		t.Errorf("after SIGTERM it took %s until another led", took)
	}
	if err := first.Ends(10 * time.Second); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	works()

	// One that is killed does not.
	third := stand()
	third.Logs("standing by", 30*time.Second)
	second.Signal(syscall.SIGKILL)
	if took := third.Logs("msg=running", 30*time.Second); took > 18*time.Second {
		t.Errorf("after SIGKILL it took %s until another led", took)
	}
	works()

	// One that sleeps until another leads wakes up, writes nothing and ends.
	fourth := stand()
	fourth.Logs("standing by", 30*time.Second)
	third.Signal(syscall.SIGSTOP)
	if took := fourth.Logs("msg=running", 30*time.Second); took > 18*time.Second {
		t.Errorf("after SIGSTOP it took %s until another led", took)
	}
	e2e.Kubectl(t, cluster, "delete", "deployment", "foo-0", "--wait=false") // Both would make it anew.
	third.Signal(syscall.SIGCONT)
	if err := third.Ends(5 * time.Second); err == nil {
		t.Error("a replica that lost the lead ended as if it had been asked to")
	}
	third.Logs("lost the Lease", time.Second)
	works()

	// Nothing was written by two.
	found, err := cluster.Requests(func(r devcluster.Request) bool {
		return r.User == "reconcel" && r.IsWrite() && r.Resource == "deployments" && r.Code == 201
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != made+1 {
		t.Errorf("%d Deployments were created, want one for each of %d Foos and one again: %v", len(found), made, found)
	}
}
