package world_test

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/sim/world"
)

// slow is a cluster whose API server takes a while to answer patches.
type slow struct {
	dynamic.Interface
	world *world.World
	takes time.Duration
	sent  *[]time.Duration // when the status was written, since the first other patch was answered
	first *time.Time
}

func (s slow) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return slowKind{s.Interface.Resource(gvr), s}
}

type slowKind struct {
	dynamic.NamespaceableResourceInterface
	slow slow
}

func (k slowKind) Namespace(name string) dynamic.ResourceInterface {
	return slowObjects{k.NamespaceableResourceInterface.Namespace(name), k.slow}
}

type slowObjects struct {
	dynamic.ResourceInterface
	slow slow
}

func (o slowObjects) Patch(ctx context.Context, name string, t types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	s := o.slow
	if len(subresources) > 0 {
		*s.sent = append(*s.sent, s.world.Now().Sub(*s.first))
	}
	s.world.Pass(s.takes)
	if s.first.IsZero() {
		*s.first = s.world.Now()
	}
	return o.ResourceInterface.Patch(ctx, name, t, body, options, subresources...)
}

// TestSlowServerHasTime checks when the status reports that a Deployment is not ready. The
// Deployment controller needs longer if requests take longer.
func TestSlowServerHasTime(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{
		0:                      500 * time.Millisecond,
		20 * time.Millisecond:  500 * time.Millisecond,
		150 * time.Millisecond: 1500 * time.Millisecond,
		800 * time.Millisecond: 5 * time.Second,
	} {
		t.Run(takes.String(), func(t *testing.T) {
			w := fooWorld(t)
			var sent []time.Duration
			var first time.Time
			w.Wrap(func(c dynamic.Interface) dynamic.Interface { return slow{c, w, takes, &sent, &first} })
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			first, sent = time.Time{}, nil
			foos := w.Cluster().Client("someone").Resource(fooResource).Namespace("default")
			if _, err := foos.Patch(t.Context(), "example-foo", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := w.Advance(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sent, []time.Duration{want}) {
				t.Errorf("the status was written %v after the Deployment, want %v", sent, want)
			}
			// A ready child does not wait.
			if err := w.Cluster().MarkReady(deploymentKind, "default", "example-foo"); err != nil {
				t.Fatal(err)
			}
			ready := w.Now().Sub(first)
			settle(t, w)
			if len(sent) != 2 || sent[1] != ready {
				t.Errorf("the status was written %v after the Deployment, want another one after %v", sent, ready)
			}
		})
	}
}
