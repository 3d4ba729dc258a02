//go:build integration

package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// readDryRun returns what a dry run would write, by action and kind, from its metrics.
func readDryRun(address string) (map[string]string, error) {
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^reconcel_dry_run_changes{action="(\w+)",kind="([\w/]+)"} (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		all[found[1]+" "+found[2]] = found[3]
	}
	return all, nil
}

// writtenBy returns the writes of a user.
func writtenBy(t *testing.T, cluster *devcluster.Cluster, user string) map[string]int {
	t.Helper()
	found, err := cluster.Requests(func(r devcluster.Request) bool { return r.User == user && r.IsWrite() })
	if err != nil {
		t.Fatal(err)
	}
	return devcluster.Tally(found)
}

// TestDryRunsBesideAController has a dry run of the same rules beside a controller, and one of other rules, while users
// create, change and delete Foos and Deployments.
func TestDryRunsBesideAController(t *testing.T) {
	t.Parallel()
	const n = 12
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"same:dry-runs", "other:dry-runs"}})
	k := func(args ...string) { t.Helper(); e2e.Kubectl(t, cluster, args...) }
	binary := e2e.Build(t)
	roles, err := exec.Command(binary, "rbac", "--dry-run", "-n", "default", "-f", "../examples/foo/rules.yaml", "--crd", "../crds").Output()
	if err != nil {
		t.Fatal(err)
	}
	permissions := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(permissions, roles, 0o600); err != nil {
		t.Fatal(err)
	}
	k("apply", "-f", permissions)
	k("create", "clusterrolebinding", "dry-runs", "--clusterrole=reconcel-dry-run", "--group=dry-runs")
	k("create", "rolebinding", "dry-runs", "--role=reconcel-dry-run", "--group=dry-runs", "--namespace=default")
	other := filepath.Join(t.TempDir(), "rules.yaml")
	text, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), "nginx:latest", "nginx:other", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	live := startAs(t, binary, cluster, "reconcel", "--listen=off", "-f", "../examples/foo/rules.yaml")
	address, dry := map[string]string{}, map[string]*e2e.Process{}
	for user, file := range map[string]string{"same": "../examples/foo/rules.yaml", "other": other} {
		address[user] = freeAddress(t)
		dry[user] = startAs(t, binary, cluster, user, "--dry-run", "--listen", address[user], "-f", file)
	}
	live.Runs()
	for _, p := range dry {
		p.Runs()
	}

	manifest := filepath.Join(t.TempDir(), "foos.yaml")
	if err := os.WriteFile(manifest, []byte(foosManifest(n)), 0o600); err != nil {
		t.Fatal(err)
	}
	k("apply", "-f", manifest)
	k("wait", "--for=create", "deployment/web-11", "--timeout=60s")
	k("wait", "--for=jsonpath={.status.conditions[?(@.type=='Ready')].observedGeneration}=1", "foo", "--all", "--timeout=60s")
	for i := range 4 {
		k("patch", "foo", fmt.Sprintf("foo-%d", i), "--type=merge", "-p", `{"spec":{"replicas":2}}`)
	}
	k("delete", "deployment", "web-5", "web-6")
	k("scale", "deployment", "web-7", "--replicas=5")
	k("wait", "--for=create", "deployment/web-5", "deployment/web-6", "--timeout=60s")
	k("wait", "--for=jsonpath={.spec.replicas}=1", "deployment/web-7", "--timeout=60s")
	k("wait", "--for=jsonpath={.spec.replicas}=2", "deployment/web-0", "deployment/web-1", "deployment/web-2", "deployment/web-3", "--timeout=60s")
	k("delete", "foo", "foo-8", "foo-9")
	k("wait", "--for=delete", "deployment/web-8", "deployment/web-9", "--timeout=60s")

	for user, right := range map[string]func(map[string]string) bool{
		"same":  func(all map[string]string) bool { return len(all) == 0 },
		"other": func(all map[string]string) bool { return all["configured Deployment"] == fmt.Sprint(n-2) },
	} {
		e2e.Poll(t, "the changes of the dry run of the "+user+" rules", 30*time.Second, 200*time.Millisecond, func() error {
			all, err := readDryRun(address[user])
			if err == nil && !right(all) {
				err = fmt.Errorf("they are %v", all)
			}
			return err
		})
	}
	for user, p := range dry {
		p.Signal(syscall.SIGTERM)
		if err := p.Ends(20 * time.Second); err != nil {
			t.Errorf("%s after SIGTERM: %v", user, err)
		}
		if found := writtenBy(t, cluster, user); len(found) > 0 {
			t.Errorf("%s has written: %v", user, found)
		}
	}
	if log := dry["other"].Log(); !strings.Contains(log, `msg="configured (dry run)" object=Foo/default/foo-0 child=Deployment/default/web-0`) || !strings.Contains(log, "configured   Deployment   10") {
		t.Errorf("the log does not say what would be written:\n%s", log)
	}
	if log := dry["same"].Log(); !strings.Contains(log, "Nothing would be written (dry run).") {
		t.Errorf("the log of the same rules ends without their result:\n%s", log)
	}
}
