//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/internal/devcluster"
)

// A replica is one of several processes of which one leads.
type replica struct {
	*exec.Cmd
	log  string // file
	done chan error
}

// says waits until the replica's log holds a text, and returns how long it took.
func (r *replica) says(t *testing.T, text string, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		log, err := os.ReadFile(r.log)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		if strings.Contains(string(log), text) {
			return took
		}
		if took > within {
			t.Fatalf("after %s a replica has not said %q", took, text)
		}
		rest(t, 20*time.Millisecond)
	}
}

// hostname is what the identity of a process begins with.
func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func (r *replica) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := r.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends waits until the replica has ended.
func (r *replica) ends(t *testing.T, within time.Duration) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(within):
		t.Fatalf("a replica did not end within %s", within)
		return nil
	}
}

// TestOneLeads takes the lead away from one replica after another, in each of the
// ways in which that happens.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{})
	binary := buildBinary(t)
	kubectl(t, cluster, "apply", "-f", "../crds/samplecontroller.k8s.io_foos.yaml")
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	stand := func() *replica {
		t.Helper()
		return startIn(t, binary, cluster, "reconcel", "-f", "../examples/foo/rules.yaml", "--listen", "off", "--namespace", "default")
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
		kubectl(t, cluster, "apply", "-f", manifest)
		kubectl(t, cluster, "wait", "--for=create", "deployment", name, "--timeout=10s")
	}
	first := stand()
	first.says(t, "msg=running", 30*time.Second)
	second := stand()
	// It is compared with the time that a process takes to start.
	second.says(t, "msg=starting", 30*time.Second)
	if took := second.says(t, `msg="standing by" lease=default/reconcel holder=`+hostname(t), 10*time.Second); took > 2*time.Second {
		t.Errorf("it took %s until a second process said who leads", took)
	}
	second.says(t, "a second installation needs another --name", time.Second)
	works()

	// One that is asked to stop gives the Lease back.
	first.signal(t, syscall.SIGTERM)
	if took := second.says(t, "msg=running", 10*time.Second); took > 3*time.Second {
		t.Errorf("after SIGTERM it took %s until another led", took)
	}
	if err := first.ends(t, 10*time.Second); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	works()

	// One that is killed does not.
	third := stand()
	third.says(t, "standing by", 30*time.Second)
	second.signal(t, syscall.SIGKILL)
	if took := third.says(t, "msg=running", 30*time.Second); took > 18*time.Second {
		t.Errorf("after SIGKILL it took %s until another led", took)
	}
	works()

	// One that sleeps until another leads wakes up, writes nothing and ends.
	fourth := stand()
	fourth.says(t, "standing by", 30*time.Second)
	third.signal(t, syscall.SIGSTOP)
	if took := fourth.says(t, "msg=running", 30*time.Second); took > 18*time.Second {
		t.Errorf("after SIGSTOP it took %s until another led", took)
	}
	kubectl(t, cluster, "delete", "deployment", "foo-0", "--wait=false") // Both would make it anew.
	third.signal(t, syscall.SIGCONT)
	if err := third.ends(t, 5*time.Second); err == nil {
		t.Error("a replica that lost the lead ended as if it had been asked to")
	}
	third.says(t, "lost the Lease", time.Second)
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
