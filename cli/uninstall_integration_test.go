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

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// heldRules put a finalizer on their primaries and orphan a child.
const heldRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: held
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  teardown: ordered
  patch: {metadata: {labels: {held: "yes"}}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-config"}}
  - id: stays
    onDelete: orphan
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-stays"}}
`

// TestUninstall kills a process and uninstalls it: first with its children kept, and
// then, for a second installation, with its children deleted.
func TestUninstall(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	binary := e2e.Build(t)
	folder := t.TempDir()
	file, manifest := filepath.Join(folder, "rules.yaml"), filepath.Join(folder, "foos.yaml")
	for path, text := range map[string]string{file: heldRules, manifest: foosManifest(2)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e2e.Kubectl(t, cluster, "apply", "-f", manifest)
	kubeconfig := cluster.UserKubeconfig(t, "reconcel")
	run := func(more ...string) *e2e.Process {
		t.Helper()
		r := startAs(t, binary, cluster, "reconcel", append([]string{"-f", file, "--listen", "off", "--namespace", "default"}, more...)...)
		for i := range 2 {
			for _, child := range []string{"stays", "config"} {
				e2e.Kubectl(t, cluster, "wait", "--for=create", "configmap", fmt.Sprintf("foo-%d-%s", i, child), "--timeout=30s")
			}
		}
		return r
	}
	uninstall := func(code int, more ...string) string {
		t.Helper()
		cmd := exec.Command(binary, append([]string{"uninstall", "--kubeconfig", kubeconfig, "--namespace", "default"}, more...)...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code {
			t.Fatalf("uninstall %v ended with %d:\n%s", more, cmd.ProcessState.ExitCode(), out)
		}
		return string(out)
	}
	finalizers := func() string {
		t.Helper()
		return strings.TrimSpace(e2e.Kubectl(t, cluster, "get", "foos", "-o", "jsonpath={.items[*].metadata.finalizers}"))
	}

	r := run()
	r.Signal(syscall.SIGKILL)
	if out := uninstall(3, "--yes"); !strings.Contains(out, "held by "+hostname(t)) {
		t.Errorf("while the Lease is held: %s", out)
	}
	uninstall(2)
	e2e.Kubectl(t, cluster, "wait", "--for=create", "lease", "reconcel", "--timeout=5s")
	e2e.Rest(t, 15*time.Second) // The Lease has expired by then.
	planned := uninstall(0, "--dry-run")
	if finalizers() == "" {
		t.Error("a dry run took finalizers off")
	}
	if done := uninstall(0, "--yes"); strings.ReplaceAll(planned, " (dry run)", "") != done {
		t.Errorf("planned was\n%sand done was\n%s", planned, done)
	}
	if left := finalizers(); left != "" {
		t.Errorf("there are finalizers: %s", left)
	}
	e2e.Kubectl(t, cluster, "delete", "-f", manifest, "--timeout=20s")
	e2e.Kubectl(t, cluster, "get", "configmap", "foo-0-config", "foo-1-config", "foo-0-stays", "foo-1-stays")
	for _, gone := range []string{"configmap/reconcel-inventory", "configmap/reconcel-revisions", "lease/reconcel"} {
		if out, err := cluster.Kubectl("get", gone); err == nil {
			t.Errorf("there is still %s", out)
		}
	}
	if out := uninstall(3, "--yes"); !strings.Contains(out, "check --namespace and --name") {
		t.Errorf("the second time: %s", out)
	}

	e2e.Kubectl(t, cluster, "delete", "configmap", "--all")
	e2e.Kubectl(t, cluster, "apply", "-f", manifest)
	r = run("--name", "other")
	e2e.Kubectl(t, cluster, "wait", "--for=jsonpath={.metadata.labels.held}=yes", "foo", "--all", "--timeout=20s")
	r.Signal(syscall.SIGTERM)
	if err := r.Ends(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	e2e.Kubectl(t, cluster, "annotate", "configmap", "foo-1-config", "reconcel.dev/installation=default/else", "--overwrite")
	out := uninstall(0, "--name", "other", "--children", "delete", "--yes")
	for _, line := range []string{"ConfigMap/default/foo-0-config deleted", "ConfigMap/default/foo-1-config kept: it has no mark", "Foo/default/foo-0 patch reverted"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not said:\n%s", line, out)
		}
	}
	names := e2e.Kubectl(t, cluster, "get", "configmaps", "-o", "name")
	if strings.Contains(names, "foo-0-config") || !strings.Contains(names, "foo-1-config") || !strings.Contains(names, "foo-0-stays") || strings.Contains(names, "inventory") {
		t.Errorf("there are %s", names)
	}
	e2e.Kubectl(t, cluster, "delete", "-f", manifest, "--timeout=20s")
}
