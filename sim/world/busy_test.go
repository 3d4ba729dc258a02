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

	"reconcel/rules"
)

// busy is a cluster in which another writer changes a Foo before each request that concerns it arrives.
type busy struct {
	dynamic.Interface
	before func()
	read   bool // the last request has read it
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
	o.busy.read = true
	return o.ResourceInterface.Get(ctx, name, options, subresources...)
}

func (o busyObjects) Patch(ctx context.Context, name string, t types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	o.busy.before()
	o.busy.read = false
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
			w.Wrap(func(c dynamic.Interface) dynamic.Interface { return &busy{Interface: c, before: other} })
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

// TestStatusOfABusyResourceThatIsRecreated deletes a Foo whose status never arrives in time, and creates a paused one with its name,
// before a request of the controller arrives that does not follow a read. The new one does not get the status of the old one.
func TestStatusOfABusyResourceThatIsRecreated(t *testing.T) {
	for after := 1900 * time.Millisecond; after < 2200*time.Millisecond; after += 20 * time.Millisecond {
		t.Run(after.String(), func(t *testing.T) { recreateBusy(t, after) })
	}
}

// recreateBusy recreates a busy Foo before the first request after a time.
func recreateBusy(t *testing.T, after time.Duration) {
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one",
		"  status: {availableReplicas: '${self.spec.replicas}'}\n", configMap("c")))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	foos := w.Cluster().Client("someone").Resource(fooResource).Namespace("default")
	const replicas = 3 // of the old Foo, or more
	n, began, recreated := 0, w.Now(), false
	label := func() {
		w.Pass(20 * time.Millisecond)
		n++
		if _, err := foos.Patch(t.Context(), "example-foo", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	cluster := &busy{}
	cluster.before = func() {
		if recreated || cluster.read || w.Now().Sub(began) < after {
			label()
			return
		}
		recreated = true
		if err := foos.Delete(t.Context(), "example-foo", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		foo := &unstructured.Unstructured{Object: objects(t, "../../examples/foo/foo.yaml")[0]}
		foo.SetNamespace("default")
		foo.SetAnnotations(map[string]string{rules.AnnotationPaused: "true"})
		if _, err := w.Cluster().Put(foo); err != nil {
			t.Fatal(err)
		}
	}
	w.Wrap(func(c dynamic.Interface) dynamic.Interface { cluster.Interface = c; return cluster })
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	began = w.Now()
	for i := 0; !recreated; i++ {
		if w.Now().Sub(began) > time.Minute {
			t.Fatal("the controller makes no request that could come too late")
		}
		if i%10 == 0 { // No status is the right one for long.
			change(t, w, fooResource, "example-foo", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas+i/10%8))
		}
		label()
		cluster.read = false
		if err := w.ServeSeen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if err := w.ServeSeen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	status, _ := w.Cluster().Find(fooKind, "default", "example-foo").Object["status"].(map[string]any)
	if got, _ := status["availableReplicas"].(int64); got >= replicas {
		t.Errorf("the new Foo has availableReplicas %d of the old one", got)
	}
}
