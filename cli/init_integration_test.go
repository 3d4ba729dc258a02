//go:build integration

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestInitLive makes the same rules of the objects of a cluster as of the manifests that they
// come from: what the API server and controllers have added is left out.
func TestInitLive(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{})
	binary := e2e.Build(t)
	const manifests = "internal/scaffold/testdata/live.yaml"
	e2e.Kubectl(t, cluster, "create", "namespace", "shops")
	e2e.Kubectl(t, cluster, "apply", "-n", "shops", "-f", manifests)
	e2e.Kubectl(t, cluster, "wait", "-n", "shops", "--for=condition=Available", "deployment/shop", "--timeout=60s")
	made := func(args ...string) string {
		folder := t.TempDir()
		cmd := exec.Command(binary, append([]string{"init", "--kind", "Shop", "--dir", folder, "-n", "shops", "--kubeconfig", cluster.Kubeconfig()}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("reconcel init %s: %v\n%s", args, err, out)
		}
		text, err := os.ReadFile(filepath.Join(folder, "rules.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, rules, _ := strings.Cut(string(text), "\napiVersion: ")
		return rules
	}
	want := made("-f", manifests)
	got := made("--live", "deployment/shop,service/shop,statefulset/shop-db,service/shop-db,persistentvolumeclaim/shop-db,cronjob/shop-report,configmap/shop-config,ingress/shop,daemonset/shop-agent")
	if got != want {
		t.Errorf("the rules of live objects are\n%s\nexpected\n%s", got, want)
	}
}
