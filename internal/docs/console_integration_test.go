//go:build integration

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/internal/devcluster"
)

// TestConsoleOnCluster runs the pages with commands for a cluster. The examples share a
// control plane, and every other page has its own.
func TestConsoleOnCluster(t *testing.T) {
	supervisor, err := filepath.Abs(filepath.Join(root, "bin/devcluster"))
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	kubectl := "#!/bin/sh\nexec " + supervisor + ` kubectl --kubeconfig="$KUBECONFIG" "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // The file must be executable.
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		if !p.needsCluster() {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			cluster := devcluster.Shared(t)
			if !strings.HasPrefix(p.path, "examples/") {
				cluster = devcluster.Start(t, devcluster.Options{})
			}
			if cluster.Borrowed() {
				t.Skip("a borrowed cluster may have objects that the pages do not show")
			}
			p.follow(t, newShell(t, bin+":"+os.Getenv("PATH"), cluster.Kubeconfig()))
		})
	}
}
