package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// busy is a cluster in which another writer changes a Foo before each request that concerns it arrives.
type busy struct {
	dynamic.Interface
	before func()
}

func (b *busy) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return busyKind{b.Interface.Resource(gvr), gvr.Resource, b}
}

type busyKind struct {
	dynamic.NamespaceableResourceInterface
	resource string
	busy     *busy
}

func (k busyKind) Namespace(name string) dynamic.ResourceInterface {
	in := k.NamespaceableResourceInterface.Namespace(name)
	if k.resource != "foos" {
		return in
	}
	return busyObjects{in, k.busy}
}

type busyObjects struct {
	dynamic.ResourceInterface
	busy *busy
}

func (o busyObjects) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	o.busy.before()
	return o.ResourceInterface.Get(ctx, name, options, subresources...)
}

func (o busyObjects) Patch(ctx context.Context, name string, t types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	o.busy.before()
	return o.ResourceInterface.Patch(ctx, name, t, body, options, subresources...)
}

// TestStatusOfABusyResource has another writer change a Foo every few milliseconds, so that each request of the controller comes too
// late. The status comes within five seconds, and follows a change of the spec within as many.
func TestStatusOfABusyResource(t *testing.T) {
	for name, body := range map[string]string{
		"label that no rule reads": `{"metadata":{"labels":{"n":"%d"}}}`,
		"spec that a rule reads":   `{"spec":{"deploymentName":"d%d"}}`,
		"label, with a finalizer":  `{"metadata":{"labels":{"n":"%d"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			more := "  status: {availableReplicas: '${self.spec.replicas}'}\n"
			if strings.Contains(name, "finalizer") {
				more += "  teardown: ordered\n"
			}
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", more,
				"  - id: c\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {name: '${self.spec.deploymentName}'}}\n"))
			n := 0
			other := func() {
				w.Pass(20 * time.Millisecond)
				n++
				client := w.Cluster().Client("someone").Resource(fooResource).Namespace("default")
				if _, err := client.Patch(t.Context(), "example-foo", types.MergePatchType, fmt.Appendf(nil, body, n), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w.Wrap(func(c dynamic.Interface) dynamic.Interface { return &busy{c, other} })
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			put(t, w, "../../examples/foo/foo.yaml")
			for _, replicas := range []int64{1, 3, 2} {
				change(t, w, fooResource, "example-foo", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
				shown := func() any {
					status, _ := w.Cluster().Find(fooKind, "default", "example-foo").Object["status"].(map[string]any)
					return status["availableReplicas"]
				}
				for changed := w.Now(); shown() != replicas; other() {
					if took := w.Now().Sub(changed); took > 5*time.Second {
						t.Fatalf("after %s, availableReplicas is %v, want %d", took, shown(), replicas)
					}
					if err := w.ServeSeen(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
