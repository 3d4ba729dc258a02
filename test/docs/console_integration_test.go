//go:build integration

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/test/devcluster"
)

// TestConsoleOnCluster runs the pages with commands for a cluster. The examples share a
// control plane one after the other, and every other page has its own.
func TestConsoleOnCluster(t *testing.T) {
	t.Parallel()
	supervisor, err := filepath.Abs(filepath.Join(root, "bin/devcluster"))
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	kubectl := "#!/bin/sh\nexec " + supervisor + ` kubectl --kubeconfig="$KUBECONFIG" "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // The file must be executable.
		t.Fatal(err)
	}
	path := bin + ":" + os.Getenv("PATH")
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
