//go:build integration

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestNamespacedManifestsAreTaken applies the manifests as a user who has permissions in
// only two namespaces. The installation is in one of them.
func TestNamespacedManifestsAreTaken(t *testing.T) {
	t.Parallel()
	cluster, binary := devcluster.Shared(t), e2e.Build(t)
	kubectl := func(args ...string) {
		t.Helper()
		if _, err := cluster.Kubectl(args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{"tenant-a", "tenant-b"} {
		kubectl("create", "namespace", namespace)
		t.Cleanup(func() { kubectl("delete", "namespace", namespace, "--wait=false") })
		kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
		kubectl("create", "rolebinding", "owner", "--namespace="+namespace, "--clusterrole=cluster-admin", "--user=tenant")
	}
	out, err := exec.Command(binary, "manifests", "-f", "../examples/foo/rules.yaml", "--crd", "../crds", "--name", "mine",
		"--namespace", "tenant-a", "--namespaced", "tenant-a,tenant-b").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("apply", "--as=tenant", "-f", file)
	if out, err := cluster.Kubectl("diff", "--as=tenant", "-f", file); err != nil {
		t.Errorf("applied again, it would change: %v\n%s", err, out)
	}
	kubectl("wait", "deployment/mine", "--namespace=tenant-a", "--for=condition=Available", "--timeout=60s")
}
