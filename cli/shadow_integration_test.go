//go:build integration

package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

// A besideReport is the part of a /debug/shadow response that the test reads.
type besideReport struct {
	Changes []struct {
		Action, Kind                              string
		Agreed, Outstanding, Differing, Withdrawn int
		Names                                     []string
	}
}

func readShadow(address string) (r besideReport, err error) {
	answer, err := http.Get("http://" + address + "/debug/shadow")
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	return r, json.NewDecoder(answer.Body).Decode(&r)
}

func (r besideReport) agreed() map[string]int {
	count := map[string]int{}
	for _, line := range r.Changes {
		if line.Agreed > 0 {
			count[line.Action+" "+line.Kind] = line.Agreed
		}
	}
	return count
}

func (r besideReport) rests() error {
	for _, line := range r.Changes {
		if line.Outstanding > 0 || line.Withdrawn > 0 {
			return fmt.Errorf("%+v", line)
		}
	}
	return nil
}

// wroteInCluster counts the writes of reconcel in the audit log as a report does.
func wroteInCluster(t *testing.T, cluster *devcluster.Cluster) map[string]int {
	t.Helper()
	found, err := cluster.Requests(func(r devcluster.Request) bool {
		return r.User == "reconcel" && r.IsWrite() && r.Code < 300 && r.Resource != "leases" && r.Resource != "events" && r.Name != "reconcel-inventory" && r.Name != "reconcel-revisions"
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{"foos": "Foo", "deployments": "Deployment"}
	count := map[string]int{}
	for _, r := range found {
		action := "configured"
		switch {
		case r.Verb == "delete":
			action = "deleted"
		case r.Code == http.StatusCreated:
			action = "created"
		}
		count[strings.TrimSuffix(action+" "+kinds[r.Resource]+"/"+r.Subresource, "/")]++
	}
	return count
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

// TestShadowsBesideAController has two shadows of the same rules beside a controller while users create,
// change and delete Foos and Deployments. A third one has other rules.
func TestShadowsBesideAController(t *testing.T) {
	t.Parallel()
	const n = 12
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"shadow-a:shadows", "shadow-b:shadows", "shadow-c:shadows"}})
	k := func(args ...string) { t.Helper(); e2e.Kubectl(t, cluster, args...) }
	binary := e2e.Build(t)
	roles, err := exec.Command(binary, "rbac", "--shadow", "-n", "default", "-f", "../examples/foo/rules.yaml", "--crd", "../crds").Output()
	if err != nil {
		t.Fatal(err)
	}
	permissions := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(permissions, roles, 0o600); err != nil {
		t.Fatal(err)
	}
	k("apply", "-f", permissions)
	k("create", "clusterrolebinding", "shadows", "--clusterrole=reconcel-shadow", "--group=shadows")
	k("create", "rolebinding", "shadows", "--role=reconcel-shadow", "--group=shadows", "--namespace=default")
	other := filepath.Join(t.TempDir(), "rules.yaml")
	text, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), "nginx:latest", "nginx:other", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	live := startAs(t, binary, cluster, "reconcel", "--listen=off", "-f", "../examples/foo/rules.yaml")
	users := map[string]string{"shadow-a": "../examples/foo/rules.yaml", "shadow-b": "../examples/foo/rules.yaml", "shadow-c": other}
	debug, shadows := map[string]string{}, map[string]*e2e.Process{}
	for user, file := range users {
		debug[user] = freeAddress(t)
		shadows[user] = startAs(t, binary, cluster, user, "--shadow", "--listen=off", "--debug-listen", debug[user], "-f", file)
	}
	live.Runs()
	for _, p := range shadows {
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
	k("patch", "foo", "foo-4", "--type=merge", "-p", `{"spec":{"deploymentName":"renamed"}}`)
	k("delete", "deployment", "web-5", "web-6")
	k("scale", "deployment", "web-7", "--replicas=5")
	k("wait", "--for=create", "deployment/renamed", "--timeout=60s")
	k("wait", "--for=create", "deployment/web-5", "deployment/web-6", "--timeout=60s")
	k("wait", "--for=jsonpath={.spec.replicas}=1", "deployment/web-7", "--timeout=60s")
	k("wait", "--for=jsonpath={.spec.replicas}=2", "deployment/web-0", "deployment/web-1", "deployment/web-2", "deployment/web-3", "--timeout=60s")
	k("delete", "foo", "foo-8", "foo-9")
	k("wait", "--for=delete", "deployment/web-4", "deployment/web-8", "deployment/web-9", "--timeout=60s")

	for _, user := range []string{"shadow-a", "shadow-b"} {
		e2e.Poll(t, user+" to agree with the audit log", 30*time.Second, 200*time.Millisecond, func() error {
			r, err := readShadow(debug[user])
			if err != nil {
				return err
			}
			if diff := cmp.Diff(wroteInCluster(t, cluster), r.agreed()); diff != "" {
				return fmt.Errorf("(-written +agreed)\n%s", diff)
			}
			return r.rests()
		})
	}
	e2e.Poll(t, "the shadow of other rules to differ", 30*time.Second, 200*time.Millisecond, func() error {
		r, err := readShadow(debug["shadow-c"])
		if err != nil {
			return err
		}
		for _, line := range r.Changes {
			if line.Action == "configured" && line.Kind == "Deployment" && line.Outstanding == n-2 && len(line.Names) == 5 {
				return nil
			}
		}
		return fmt.Errorf("%+v", r)
	})
	for user, p := range shadows {
		p.Signal(syscall.SIGTERM)
		if err := p.Ends(20 * time.Second); err != nil {
			t.Errorf("%s after SIGTERM: %v", user, err)
		}
		if found := writtenBy(t, cluster, user); len(found) > 0 {
			t.Errorf("%s has written: %v", user, found)
		}
	}
	if found := wroteInCluster(t, cluster); found["created Deployment"] < n+3 || found["deleted Deployment"] < 1 {
		t.Errorf("the controller has written %v", found)
	}
}
