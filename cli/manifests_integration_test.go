//go:build integration

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestManifestsAreTaken installs the manifests on a real control plane, as a user does.
func TestManifestsAreTaken(t *testing.T) {
	t.Parallel()
	cluster, binary, folder := devcluster.Shared(t), e2e.Build(t), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		args = append([]string{"manifests", "-f", "../examples/foo/rules.yaml", "--crd", "../crds", "--name", "taken", "--namespace", "taken"}, args...)
		out, err := exec.Command(binary, args...).Output()
		if err != nil {
			t.Fatalf("reconcel %v: %v", args, err)
		}
		return string(out)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := cluster.Kubectl(args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	file, base := filepath.Join(folder, "manifests.yaml"), filepath.Join(folder, "base")
	if err := os.WriteFile(file, []byte(run()), 0o600); err != nil {
		t.Fatal(err)
	}
	run("--kustomize", base)
	t.Cleanup(func() { kubectl("delete", "--wait=false", "-f", file) })

	kubectl("apply", "-f", file)
	if out, err := cluster.Kubectl("diff", "-f", file); err != nil {
		t.Errorf("applied again, it would change: %v\n%s", err, out)
	}
	// The namespace enforces the restricted profile. It rejects other Pods, and a
	// Deployment of such Pods would never become available.
	if _, err := cluster.Kubectl("run", "loose", "--image=x", "--namespace=taken", "--dry-run=server"); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("a Pod without a security context: got %v, want it refused", err)
	}
	kubectl("wait", "deployment/taken", "--namespace=taken", "--for=condition=Available", "--timeout=60s")

	names := func(from ...string) []string {
		t.Helper()
		return slices.Sorted(strings.FieldsSeq(kubectl(append([]string{"create", "--dry-run=client", "--output=name"}, from...)...)))
	}
	if diff := cmp.Diff(names("-f", file), names("-k", base)); diff != "" {
		t.Errorf("-manifests +kustomize:\n%s", diff)
	}
	if out, err := cluster.Kubectl("diff", "-k", base); err != nil {
		t.Errorf("what kustomize makes differs: %v\n%s", err, out)
	}
}
