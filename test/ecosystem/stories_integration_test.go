//go:build integration

package ecosystem

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// onCluster returns a namespace of a control plane. Its reconcel has a ServiceAccount, and the permissions of the folder.
func onCluster(t *testing.T) site {
	t.Helper()
	cluster := devcluster.Shared(t)
	w := e2e.New(t, cluster)
	w.Create(fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s, namespace: %[1]s}}", w.Namespace))
	request := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": w.Namespace}}}
	answer, err := w.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(w.Namespace).
		Create(t.Context(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		t.Fatal(err)
	}
	account := rest.AnonymousClientConfig(cluster.Config())
	account.BearerToken, _, _ = unstructured.NestedString(answer.Object, "status", "token")
	account.QPS = -1
	return site{kubeconfig: cluster.Kubeconfig(), namespace: w.Namespace, name: w.Namespace, account: account,
		every: 5 * time.Second, patience: 5 * time.Minute}
}

// TestStoriesOnCluster tells the stories on a control plane. A sample has one tool for each.
func TestStoriesOnCluster(t *testing.T) {
	for i, s := range stories() {
		for j, with := range tools {
			if i%len(tools) != j && !soak.Enabled() {
				continue
			}
			t.Run(with.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				tell(t, onCluster(t), with.make(), nil, s)
			})
		}
	}
}

// TestStoriesAreKilledOnCluster tells the stories on a control plane, while each leader is killed at one of its first
// writes.
func TestStoriesAreKilledOnCluster(t *testing.T) {
	if !soak.Enabled() {
		t.Skip("TestStoriesAreKilled has a sample in memory")
	}
	for i, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			place := onCluster(t)
			place.lease, place.patience = true, 20*time.Minute // Each new leader waits for the Lease of the last one.
			tell(t, place, tools[i%len(tools)].make(), &killer{among: 4}, s)
		})
	}
}
