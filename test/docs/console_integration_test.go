//go:build integration

package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestConsoleOnCluster runs the pages with commands for a cluster. The examples share a
// control plane one after the other, and every other page has its own.
func TestConsoleOnCluster(t *testing.T) {
	t.Parallel()
	path := withKubectl(t)
	var examples []page
	for _, p := range pages(t) {
		switch {
		case !p.needsCluster():
		case strings.HasPrefix(p.path, "examples/"):
			examples = append(examples, p)
		default:
			t.Run(p.path, func(t *testing.T) {
				t.Parallel()
				p.followOn(t, devcluster.Start(t, devcluster.Options{}), path)
			})
		}
	}
	t.Run("examples", func(t *testing.T) {
		t.Parallel()
		for _, p := range examples {
			t.Run(p.path, func(t *testing.T) { p.followOn(t, devcluster.Shared(t), path) })
		}
	})
}

// followOn follows a page on a cluster.
func (p page) followOn(t *testing.T, cluster *devcluster.Cluster, path string) {
	t.Helper()
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster may have objects that the pages do not show")
	}
	p.follow(t, newShell(t, path, cluster.Kubeconfig()))
}

// TestTutorialInMemory runs the tutorial as it says, in a cluster in memory, which shows what a control plane shows.
func TestTutorialInMemory(t *testing.T) {
	t.Parallel()
	path, kubeconfig := withKubectl(t), filepath.Join(t.TempDir(), "kubeconfig")
	dev := exec.CommandContext(t.Context(), "reconcel", "dev", "--write-kubeconfig", kubeconfig)
	dev.Cancel = func() error { return dev.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	dev.Stdout, dev.Stderr = &log, &log
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Wait(); t.Failed() {
			t.Logf("dev: %v\n%s", err, log.String())
		}
	})
	e2e.Eventually(t, "the kubeconfig", time.Minute, func() error {
		_, err := os.Stat(kubeconfig)
		return err
	})
	for _, p := range pages(t) {
		if p.path == "docs/tutorial.md" {
			p.follow(t, newShell(t, path, kubeconfig))
			return
		}
	}
	t.Fatal("there is no tutorial")
}

// withKubectl returns a PATH with the kubectl of the development cluster.
func withKubectl(t *testing.T) string {
	t.Helper()
	supervisor, err := filepath.Abs(filepath.Join(root, "bin/devcluster"))
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	kubectl := "#!/bin/sh\nexec " + supervisor + ` kubectl --kubeconfig="$KUBECONFIG" "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // The file must be executable.
		t.Fatal(err)
	}
	return bin + ":" + os.Getenv("PATH")
}
