// Package devcluster gives tests a real Kubernetes cluster.
//
//	func TestSomething(t *testing.T) {
//		cluster := devcluster.Shared(t)
//		client := kubernetes.NewForConfigOrDie(cluster.Config())
//		…
//	}
//
// A program that is not a test uses Run instead.
//
// Tests that disturb each other on one cluster but should run in parallel use Reserve,
// which lends each cluster to one test at a time. Start gives a test its own cluster.
//
// The cluster is a process of bin/devcluster, which documents the components. It ends
// with the test, or with the test's process if that dies first. The first test on a
// machine compiles Kubernetes, which takes minutes. Run `make devcluster` beforehand to
// keep that out of the tests' time limit.
//
// With DEVCLUSTER_KUBERNETES=1.33, for example, the clusters are of that minor instead of
// the newest one.
//
// With DEVCLUSTER_KUBECONFIG=FILE the tests run on the cluster of that kubeconfig. A test
// that breaks components or reads the audit log cannot, and should skip if Borrowed is
// true. A plain KUBECONFIG is ignored: in a user's shell it often names an important
// cluster.
package devcluster
