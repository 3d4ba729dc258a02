package queue

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"reconcel/engine/access"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
)

// TestStandbyQueuesNothing shows primaries that come and go to a process that serves none. It keeps none of them, and serves
// what comes when it leads.
func TestStandbyQueuesNothing(t *testing.T) {
	r := &Router{Shared: &access.Shared{Queue: NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry()))}}
	show := func(i int) {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName(fmt.Sprintf("foo-%d", i))
		u.SetUID(types.UID(u.GetName()))
		r.enqueueChanged(schema.GroupKind{Group: "g", Kind: "Foo"}, watch.NewObject(u, watch.Primary))
	}
	r.StandBy()
	for i := range 1000 {
		show(i)
	}
	if n := r.Queue.Len(); n != 0 {
		t.Errorf("a standby keeps %d requests", n)
	}
	r.Plan.Store(&plan.Plan{})
	r.Begin()
	show(0)
	if n := r.Queue.Len(); n != 1 {
		t.Errorf("the leader has %d requests, want 1", n)
	}
}
