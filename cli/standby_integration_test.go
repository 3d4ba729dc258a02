//go:build integration

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/internal/devcluster"
)

// startIn starts a process as a user would in a terminal, as a user of the cluster.
func startIn(t *testing.T, binary string, cluster *devcluster.Cluster, user string, args ...string) *replica {
	t.Helper()
	r := &replica{log: filepath.Join(t.TempDir(), user+".log"), done: make(chan error, 1)}
	log, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.Command(binary, append([]string{"run", "--kubeconfig", cluster.UserKubeconfig(t, user)}, args...)...)
	r.Stderr = log
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.Wait() }()
	t.Cleanup(func() {
		_ = r.Process.Kill()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(r.log)
			t.Logf("log of %s:\n%s", user, text)
		}
	})
	return r
}

// TestTwoTerminals follows the READMEs of two examples in two terminals, of which
// the first has a rule with onRuleRemoval: delete.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"second:system:masters"}})
	binary := buildBinary(t)
	kubectl(t, cluster, "apply", "-f", "../crds/")
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	listen := freeAddress(t)
	first := startIn(t, binary, cluster, "reconcel", "-f", "../examples/namespace-decorator/rules.yaml", "--listen", listen)
	first.says(t, "msg=running", 30*time.Second)
	kubectl(t, cluster, "apply", "-f", "../examples/namespace-decorator/namespace.yaml")
	kubectl(t, cluster, "wait", "--for=create", "networkpolicy", "default-deny", "-n", "team-a", "--timeout=30s")

	// The port is the first thing that a second one meets.
	second := startIn(t, binary, cluster, "second", "-f", "../examples/webapp/rules.yaml", "--listen", listen)
	second.says(t, "another reconcel may be running on this machine; a second installation needs --name and --listen", 10*time.Second)
	_ = second.ends(t, 5*time.Second)

	// Without one it stands by, and writes nothing whatever its rules say.
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	webapp, err := os.ReadFile("../examples/webapp/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(string(webapp))
	second = startIn(t, binary, cluster, "second", "-f", rules, "--listen", "off")
	second.says(t, `msg="standing by" lease=default/reconcel holder=`+hostname(t), 10*time.Second)
	kubectl(t, cluster, "apply", "-f", "../examples/webapp/shop.yaml")
	write("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: []\n")
	second.says(t, "rules reloaded", 10*time.Second)
	write("rules: wrong\n")
	second.says(t, "rules invalid", 10*time.Second)
	write(string(webapp))
	rest(t, 3*time.Second)
	found, err := cluster.Requests(func(r devcluster.Request) bool { return r.User == "second" && r.IsWrite() })
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("the process that stands by has written: %v", devcluster.Tally(found))
	}

	// When it leads, what it never had is left alone.
	first.signal(t, syscall.SIGTERM)
	second.says(t, "msg=running", 5*time.Second)
	second.says(t, "keeping its objects and finalizers", 5*time.Second)
	kubectl(t, cluster, "wait", "--for=create", "deployment", "shop", "--timeout=30s")
	rest(t, 8*time.Second) // Longer than it took to delete them, once.
	found, err = cluster.Requests(func(r devcluster.Request) bool { return r.User == "second" && strings.HasPrefix(r.Verb, "delete") })
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("the second has deleted objects of the first: %v", devcluster.Tally(found))
	}
	kubectl(t, cluster, "get", "-n", "team-a", "networkpolicy/default-deny", "resourcequota/default", "serviceaccount/deployer")
}
