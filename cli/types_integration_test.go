//go:build integration

package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestRulesAndTheKindsOfTheCluster starts with the rules of all examples, which are valid
// for the cluster, and with a template field that the cluster's schema lacks.
func TestRulesAndTheKindsOfTheCluster(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	binary := e2e.Build(t)
	command := func(files ...string) *exec.Cmd {
		args := []string{"run", "--kubeconfig", cluster.UserKubeconfig(t, "reconcel"), "--listen", "off"}
		for _, file := range files {
			args = append(args, "-f", file)
		}
		return exec.CommandContext(t.Context(), binary, args...)
	}

	data, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "rules.yaml")
	mistaken := strings.Replace(string(data), "        replicas: ${", "        replcas: ${", 1)
	if err := os.WriteFile(wrong, []byte(mistaken), 0o600); err != nil {
		t.Fatal(err)
	}
	run := command(wrong)
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != 1 ||
		!strings.Contains(string(out), "template.spec.replcas: unknown field (did you mean 'replicas'?)") {
		t.Errorf("with a field that there is not: %v\n%s", err, out)
	}

	examples, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil || len(examples) < 13 {
		t.Fatal(examples, err)
	}
	run = command(examples...)
	stderr, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	running := false
	for log := bufio.NewScanner(stderr); !running && log.Scan(); {
		running = strings.Contains(log.Text(), "msg=running")
		if !strings.Contains(log.Text(), "level=INFO") {
			t.Errorf("the examples: %s", log.Text())
		}
	}
	if !running {
		t.Errorf("the examples do not run: %v", run.Wait())
	}
}
