package world_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestFailedStatus lets one field of a status fail, or a condition. The field keeps its last value, and the others are as the
// rule says: written, or gone.
func TestFailedStatus(t *testing.T) {
	const fails = "string(10 / (self.spec.replicas - 2))"
	for name, c := range map[string]struct{ status, want string }{
		"a field fails":               {"{replicas: '${self.spec.replicas == 1 ? optional.of(1) : optional.none()}', pod_names: \"${[" + fails + "]}\"}", "replicas: <nil>, pod_names: [-10]"},
		"an element of a list fails":  {"{replicas: '${self.spec.replicas == 1 ? optional.of(1) : optional.none()}', pod_names: [a, '${" + fails + "}']}", "replicas: <nil>, pod_names: [a -10]"},
		"a condition fails":           {"{replicas: '${self.spec.replicas == 1 ? optional.of(1) : optional.none()}', pod_names: ['${string(self.spec.replicas)}']}\n  conditions: [{type: Large, when: \"" + fails + " != ''\"}]", "replicas: <nil>, pod_names: [2]"},
		"the whole rule cannot start": {"{replicas: '${self.spec.replicas}', pod_names: ['${string(self.spec.replicas)}']}\n  let: {x: '" + fails + "'}\n  children: [{id: c, when: x != '', template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]", "replicas: 2, pod_names: [2]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: one\n  for: {apiVersion: k8stest.justin0u0.com/v1alpha1, kind: PodSet}\n  status: "+c.status+"\n")
			put(t, w, "../../examples/podset/podset.yaml")
			podSets := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Group: "k8stest.justin0u0.com", Version: "v1alpha1", Resource: "podsets"}).Namespace("default")
			for _, n := range []int{1, 2} {
				patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
				if _, err := podSets.Patch(t.Context(), "podset-sample", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				settle(t, w)
			}
			o, err := podSets.Get(t.Context(), "podset-sample", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			status, _ := o.Object["status"].(map[string]any)
			if got := fmt.Sprintf("replicas: %v, pod_names: %v", status["replicas"], status["pod_names"]); got != c.want {
				t.Errorf("the status has %s, want %s\n%v", got, c.want, status)
			}
		})
	}
}
