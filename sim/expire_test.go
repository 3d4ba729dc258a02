package sim_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestEventsExpire has an Event that is told again after half an hour. It exists for an hour from then on.
func TestEventsExpire(t *testing.T) {
	w := newWorld(t)
	event := runtimeschema.GroupVersionKind{Version: "v1", Kind: "Event"}
	w.put("{apiVersion: v1, kind: Event, metadata: {name: e}, involvedObject: {kind: Pod, name: p, namespace: default}, reason: Pulled, type: Normal, count: 1}")
	w.clock.Step(30 * time.Minute)
	if _, err := w.of(event).Patch(t.Context(), "e", types.MergePatchType, []byte(`{"count":2}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		there bool
	}{{0, true}, {59 * time.Minute, true}, {2 * time.Minute, false}} {
		w.clock.Step(step.after)
		for w.Collect() {
		}
		if there := w.Find(event.GroupKind(), "default", "e") != nil; there != step.there {
			t.Errorf("at %s, the Event is there: %t", w.clock.Now(), there)
		}
	}
}
