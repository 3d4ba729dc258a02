//go:build integration

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestTwoTerminals runs the READMEs of two examples in two terminals. The first example
// has a rule with onRuleRemoval: delete.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"second:system:masters"}})
	binary := e2e.Build(t)
	listen := freeAddress(t)
	first := startAs(t, binary, cluster, "reconcel", "-f", "../examples/namespace-decorator/rules.yaml", "--listen", listen)
	first.Logs("msg=running", 30*time.Second)
	e2e.Kubectl(t, cluster, "apply", "-f", "../examples/namespace-decorator/namespace.yaml")
	e2e.Kubectl(t, cluster, "wait", "--for=create", "networkpolicy", "default-deny", "-n", "team-a", "--timeout=30s")

	// The second process first finds that the port is in use.
	second := startAs(t, binary, cluster, "second", "-f", "../examples/webapp/rules.yaml", "--listen", listen)
	second.Logs("another reconcel may be running on this machine; a second installation needs --name and --listen", 10*time.Second)
	_ = second.Ends(5 * time.Second)

	// Without that port it stands by, and writes nothing whatever its rules are.
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
	second = startAs(t, binary, cluster, "second", "-f", rules, "--listen", "off")
	second.Logs(`msg="standing by" lease=default/reconcel holder=`+hostname(t), 10*time.Second)
	e2e.Kubectl(t, cluster, "apply", "-f", "../examples/webapp/shop.yaml")
	write("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: []\n")
	second.Logs("rules reloaded", 10*time.Second)
	write("rules: wrong\n")
	second.Logs("rules invalid", 10*time.Second)
	write(string(webapp))
	e2e.Rest(t, 3*time.Second)
	found, err := cluster.Requests(func(r devcluster.Request) bool { return r.User == "second" && r.IsWrite() })
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("the process that stands by has written: %v", devcluster.Tally(found))
	}

	// As the leader, it leaves objects of the other rules alone.
	first.Signal(syscall.SIGTERM)
	second.Logs("msg=running", 5*time.Second)
	second.Logs("keeping its objects and finalizers", 5*time.Second)
	e2e.Kubectl(t, cluster, "wait", "--for=create", "deployment", "shop", "--timeout=30s")
	e2e.Rest(t, 8*time.Second) // An earlier version deleted them within that time.
	found, err = cluster.Requests(func(r devcluster.Request) bool { return r.User == "second" && strings.HasPrefix(r.Verb, "delete") })
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		t.Errorf("the second has deleted objects of the first: %v", devcluster.Tally(found))
	}
	e2e.Kubectl(t, cluster, "get", "-n", "team-a", "networkpolicy/default-deny", "resourcequota/default", "serviceaccount/deployer")
}
