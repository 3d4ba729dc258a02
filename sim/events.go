package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// An Event is one that somebody recorded about an object. Events are not
// objects of the cluster, and are never combined or dropped.
type Event struct {
	Time         time.Time
	About        corev1.ObjectReference
	Type, Reason string
	Action, Note string
}

// Events returns all Events so far.
func (c *Cluster) Events() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// Recorder returns a recorder of Events.
func (c *Cluster) Recorder() events.EventRecorder { return recorder{c} }

type recorder struct{ cluster *Cluster }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(regarding, _ runtime.Object, eventType, reason, action, note string, args ...any) {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, Event{
		Time: c.clock.Now(), About: referenceTo(regarding), Type: eventType, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
	})
}

func referenceTo(obj runtime.Object) corev1.ObjectReference {
	if ref, ok := obj.(*corev1.ObjectReference); ok {
		return *ref
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	ref := corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
	if m, err := meta.Accessor(obj); err == nil {
		ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = m.GetNamespace(), m.GetName(), m.GetUID(), m.GetResourceVersion()
	}
	return ref
}
