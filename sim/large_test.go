package sim_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim"
)

// TestAChangeCostsTheSameInALargeCluster compares what a write and the controllers allocate with few and many objects.
func TestAChangeCostsTheSameInALargeCluster(t *testing.T) {
	cluster, err := sim.New(sim.Options{Kinds: kinds(), History: 100})
	if err != nil {
		t.Fatal(err)
	}
	maps := cluster.Client("test").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	create := func(from, to int) {
		for i := from; i < to; i++ {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": fmt.Sprintf("m%05d", i)}, "data": map[string]any{"a": "1"}}}
			if _, err := maps.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		cluster.Collect()
	}
	n := 0
	change := func() {
		n++
		if _, err := maps.Patch(t.Context(), "m00000", types.MergePatchType, fmt.Appendf(nil, `{"data":{"a":"%d"}}`, n), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		cluster.Collect()
	}
	create(0, 10)
	few := testing.AllocsPerRun(200, change)
	create(10, 5000)
	if many := testing.AllocsPerRun(200, change); many > 1.5*few {
		t.Errorf("a change allocates %.0f times with 10 objects, and %.0f times with 5000", few, many)
	}
}

// TestPodsThatAreNotRestartedComplete marks Pods of each policy as ready.
func TestPodsThatAreNotRestartedComplete(t *testing.T) {
	w := newWorld(t)
	for policy, want := range map[string]string{"Always": "Running", "OnFailure": "Succeeded", "Never": "Succeeded"} {
		u := w.put(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: default}, spec: {restartPolicy: %s, containers: [{name: c, image: i}]}}", len(policy), policy))
		if err := w.MarkReady(u.GroupVersionKind(), "default", u.GetName()); err != nil {
			t.Fatal(err)
		}
		u = w.Find(u.GroupVersionKind().GroupKind(), "default", u.GetName())
		if got, _, _ := unstructured.NestedString(u.Object, "status", "phase"); got != want {
			t.Errorf("a Pod with the restartPolicy %s is %s, want %s", policy, got, want)
		}
	}
}
