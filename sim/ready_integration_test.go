//go:build integration

package sim_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// aboutReady has an object of each kind that MarkReady supports.
var aboutReady = []string{`
apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`, `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: x}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: x}
spec: {serviceName: x, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: x}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`, `
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec: {completions: 2, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}`, `
apiVersion: v1
kind: Pod
metadata: {name: x}
spec: {automountServiceAccountToken: false, containers: [{name: c, image: i}]}`, `
apiVersion: v1
kind: Service
metadata: {name: x}
spec: {type: LoadBalancer, ports: [{port: 80}]}`, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: x}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: x}
spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}`, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: x}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}`, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: x}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}`, `
apiVersion: sim.reconcel.dev/v1
kind: Widget
metadata: {name: x}
spec: {size: small}`}

// testReady sends the status of ready objects to a real control plane, which must accept
// it unchanged.
func testReady(t *testing.T, client dynamic.Interface) {
	for _, text := range aboutReady {
		u := parse(t, text)
		gvk := u.GroupVersionKind()
		t.Run(gvk.Kind, func(t *testing.T) {
			w := newWorld(t)
			w.put(text)
			if err := w.MarkReady(gvk, "default", "x"); err != nil {
				t.Fatal(err)
			}
			want := w.Find(gvk.GroupKind(), "default", "x").Object["status"]
			body, err := json.Marshal(map[string]any{"status": want})
			if err != nil {
				t.Fatal(err)
			}
			resource := client.Resource(gvk.GroupVersion().WithResource(kinds().Kind(gvk).Resource)).Namespace("default")
			if _, err := resource.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			live, err := resource.Patch(t.Context(), "x", types.MergePatchType, body, metav1.PatchOptions{}, "status")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(common(live.Object["status"], want), want); diff != "" {
				t.Errorf("status (- real, + sim):\n%s", diff)
			}
		})
	}
}
