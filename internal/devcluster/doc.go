// Package devcluster gives tests a real Kubernetes cluster.
//
//	func TestSomething(t *testing.T) {
//		cluster := devcluster.Shared(t)
//		client := kubernetes.NewForConfigOrDie(cluster.Config())
//		…
//	}
//
// Tests that do not get on with each other on one cluster, and yet are to run side
// by side, take turns at some with Reserve; Start gives a test one for itself.
//
// The cluster is a process of bin/devcluster, which documents what is in it. It
// ends with the test, or with the test's process if that dies first. A machine
// that has not compiled Kubernetes yet does so in the first test, which takes
// minutes: `make devcluster` beforehand keeps that out of the tests' time limit.
//
// With DEVCLUSTER_KUBECONFIG=FILE the tests run on the cluster of that
// kubeconfig. A test that breaks components or reads the audit log cannot, and
// should skip where Borrowed says so. A plain KUBECONFIG is ignored: in a user's
// shell it often names a cluster that matters.
package devcluster
