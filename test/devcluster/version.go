package devcluster

import (
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
)

// Version returns the version of the cluster's API server, such as v1.37.2.
func (c *Cluster) Version(t testing.TB) string {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		t.Fatalf("devcluster: %v", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		t.Fatalf("devcluster: %v", err)
	}
	return version.GitVersion
}

// IsNewest reports whether the cluster is of the newest minor that bin/devcluster can run.
// What is recorded of a cluster is recorded of that minor.
func (c *Cluster) IsNewest(t testing.TB) bool {
	t.Helper()
	minors, _ := versions(t)
	newest := minors[len(minors)-1]
	return strings.HasPrefix(c.Version(t), "v"+newest+".")
}

// versions returns the minors that bin/devcluster can run, the oldest first, and their
// versions.
func versions(t testing.TB) (minors []string, of map[string]string) {
	t.Helper()
	path, err := Build("devcluster", "hack/devcluster")
	if err != nil {
		t.Fatalf("devcluster: %v", err)
	}
	out, err := exec.Command(path, "versions").Output()
	if err != nil {
		t.Fatalf("devcluster versions: %v", err)
	}
	of = map[string]string{}
	for line := range strings.Lines(string(out)) {
		minor, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		minors = append(minors, minor)
		of[minor] = version
	}
	return minors, of
}
