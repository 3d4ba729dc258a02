package engine

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"reconcel/engine/watch"
)

// TestRepairUpToTheWrite serves the queued request of a changed child's event, up to the
// PATCH that repairs the child.
func TestRepairUpToTheWrite(t *testing.T) {
	for _, drifted := range []bool{false, true} {
		name := "converged"
		if drifted {
			name = "drifted"
		}
		t.Run(name, func(t *testing.T) {
			e, req := converged(t)
			if _, err := e.Reconciler.Reconcile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			children := e.Plan.Load().Primaries[req.Kind].Children[deployment]
			cache, err := children.Cache()
			if err != nil {
				t.Fatal(err)
			}
			child, _ := cache.Get("default", "web")
			before := stored(child)
			_, applied := appliedDeployment(t, e.program, decode(t, []byte(convergedFoo)))
			changed := owning(t, stored(child), watch.Child, strings.Replace(applied, `"f:replicas":{},`, "", 1))
			changed.SetResourceVersion("12")
			feed := show(t, children, cache.Kind(), before)
			client := fake.NewSimpleDynamicClient(kruntime.NewScheme())
			client.PrependReactor("get", "*", func(clienttesting.Action) (bool, kruntime.Object, error) { return true, changed.DeepCopy(), nil })
			patched := false
			client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, kruntime.Object, error) {
				patched = true
				runtime.Goexit()
				return true, nil, nil
			})
			e.Client, e.Sender = client, Dependencies{Client: client}.sender()
			observe(t, feed, before, changed)
			if !drifted {
				return
			}
			var worker sync.WaitGroup
			worker.Go(func() { e.Workers.ServeNext(t.Context()) })
			worker.Wait()
			if !patched {
				t.Error("nothing was repaired")
			}
		})
	}
}
