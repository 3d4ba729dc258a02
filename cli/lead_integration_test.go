//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// hostname is the prefix of a process's identity.
func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOneLeads ends the leadership of one replica after another, in each way that can
// happen.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	binary := e2e.Build(t)
	stand := func() *e2e.Process {
		t.Helper()
		return startAs(t, binary, cluster, "reconcel", "-f", "../examples/foo/rules.yaml", "--listen", "off", "--namespace", "default")
	}
	made := 0
	// works checks that a replica creates the children of a new Foo.
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
	// The log of the start is the reference, so that the time to start does not count.
	second.Logs("msg=starting", 30*time.Second)
	if took := second.Logs(`msg="standing by" lease=default/reconcel holder=`+hostname(t), 10*time.Second); took > 2*time.Second {
		t.Errorf("it took %s until a second process said who leads", took)
	}
	second.Logs("a second installation needs another --name", time.Second)
	works()

	// A replica that is asked to stop releases the Lease.
	first.Signal(syscall.SIGTERM)
	if took := second.Logs("msg=running", 10*time.Second); took > 3*time.Second {
		t.Errorf("after SIGTERM it took %s until another led", took)
	}
	if err := first.Ends(10 * time.Second); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	works()

	// A killed replica does not.
	third := stand()
	third.Logs("standing by", 30*time.Second)
	second.Signal(syscall.SIGKILL)
	if took := third.Logs("msg=running", 30*time.Second); took > 18*time.Second {
		t.Errorf("after SIGKILL it took %s until another led", took)
	}
	works()

	// A replica that was suspended until another one leads writes nothing when it
	// resumes, and exits.
	fourth := stand()
	fourth.Logs("standing by", 30*time.Second)
	third.Signal(syscall.SIGSTOP)
	if took := fourth.Logs("msg=running", 30*time.Second); took > 18*time.Second {
		t.Errorf("after SIGSTOP it took %s until another led", took)
	}
	e2e.Kubectl(t, cluster, "delete", "deployment", "foo-0", "--wait=false") // Both would create it again.
	third.Signal(syscall.SIGCONT)
	if err := third.Ends(5 * time.Second); err == nil {
		t.Error("a replica that lost the lead ended as if it had been asked to")
	}
	third.Logs("leadership ended", time.Second)
	works()

	// No two replicas created the same object.
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
