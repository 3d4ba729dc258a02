//go:build integration

package campaign

import (
	"context"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// gitops applies a manifest by force, again and again, as a program does that keeps a cluster equal to
// a repository.
type gitops struct {
	client dynamic.ResourceInterface

	mu       sync.Mutex
	manifest *unstructured.Unstructured
}

// applyEvery is how often a gitops applies.
const applyEvery = 200 * time.Millisecond

// applies lets the GitOps writer of the run apply a manifest from now on.
func (r *faultRun) applies(manifest map[string]any) {
	r.Helper()
	u := &unstructured.Unstructured{Object: r.fill(manifest).(map[string]any)}
	if r.gitops == nil {
		r.gitops = &gitops{client: r.world.ResourceIn(u.GroupVersionKind(), r.namespace)}
		defer r.gitops.start(r)
	}
	applied, err := r.gitops.turn(r.Context(), u)
	if err != nil {
		r.Fatalf("apply %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	r.awaitVersion(applied)
}

// start repeats the apply until the test ends.
func (g *gitops) start(r *faultRun) {
	ctx, cancel := context.WithCancel(r.Context())
	var applying sync.WaitGroup
	applying.Go(func() {
		tick := time.NewTicker(applyEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, _ = g.turn(ctx, nil) // It fails when the object is gone.
			}
		}
	})
	r.Cleanup(func() { cancel(); applying.Wait() })
}

// turn applies the manifest, after it has replaced it by the next one, if there is one. It never
// creates an object that was deleted.
func (g *gitops) turn(ctx context.Context, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if next != nil {
		if g.manifest != nil {
			next.SetUID(g.manifest.GetUID())
		}
		g.manifest = next
	}
	applied, err := g.client.Apply(ctx, g.manifest.GetName(), g.manifest, metav1.ApplyOptions{FieldManager: "gitops", Force: true})
	if err == nil && g.manifest.GetUID() == "" {
		g.manifest.Object = maps.Clone(g.manifest.Object)
		g.manifest.SetUID(applied.GetUID())
	}
	return applied, err
}
