//go:build integration

package cli_test

import (
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/stories"
)

// TestUpgradeOnCluster tells the story of two versions on a control plane.
func TestUpgradeOnCluster(t *testing.T) {
	t.Parallel()
	older := stories.OlderProgram(t)
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	w := e2e.In(t, cluster, "default")
	(&stories.Upgrade{
		T: t, Config: cluster.Config(), Kubeconfig: cluster.UserKubeconfig(t, e2e.User), Older: older,
		Newer: e2e.Build(t), Root: "..", Copies: 18,
		Writes: func() []devcluster.Request {
			return w.Requests(func(r devcluster.Request) bool { return r.User == e2e.User && r.IsWrite() })
		},
	}).Tell()
}
