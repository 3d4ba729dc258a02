package e2e

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"reconcel/test/devcluster"
)

// World is one test's part of a cluster: a namespace in which the test acts as every
// client except reconcel.
type World struct {
	*testing.T
	Cluster   *devcluster.Cluster
	Client    dynamic.Interface // of the administrator, without client-side limits
	Namespace string

	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// New returns a world with a new namespace, which is deleted when the test ends.
func New(t *testing.T, cluster *devcluster.Cluster) *World {
	t.Helper()
	w := In(t, cluster, "")
	w.Namespace = w.CreateNamespace("test-")
	return w
}

// In returns a world in an existing namespace.
func In(t *testing.T, cluster *devcluster.Cluster, namespace string) *World {
	t.Helper()
	config := cluster.Config()
	config.WarningHandler = rest.NoWarnings{} // The tests use deprecated versions on purpose.
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &World{T: t, Cluster: cluster, Client: client, Namespace: namespace,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

// Beside returns the same world in another namespace.
func (w *World) Beside(namespace string) *World {
	other := *w
	other.Namespace = namespace
	return &other
}

// Within returns the same world for a subtest.
func (w *World) Within(t *testing.T) *World {
	other := *w
	other.T = t
	return &other
}

// Rediscover resets the cached discovery, for a test that changes a CRD.
func (w *World) Rediscover() { w.mapper.Reset() }

// CreateNamespace creates a namespace with a name prefix, and deletes it when the test
// ends.
func (w *World) CreateNamespace(prefix string) string {
	w.Helper()
	name := w.Create("{apiVersion: v1, kind: Namespace, metadata: {generateName: " + prefix + "}}").GetName()
	w.Cleanup(func() {
		if err := w.Client.Resource(namespaces).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			w.Errorf("clean up: %v", err)
		}
	})
	return name
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Fill replaces NAMESPACE in a text by the name of the world's namespace.
func (w *World) Fill(text string) string { return strings.ReplaceAll(text, "NAMESPACE", w.Namespace) }

// Kubectl runs kubectl as the administrator, and fails the test if it fails.
func (w *World) Kubectl(args ...string) string {
	w.Helper()
	return Kubectl(w.T, w.Cluster, args...)
}

// Kubectl runs kubectl as the administrator, and fails the test if it fails.
func Kubectl(t *testing.T, cluster *devcluster.Cluster, args ...string) string {
	t.Helper()
	out, err := cluster.Kubectl(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}
