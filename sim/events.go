package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An Event is a recorded Event. Events are not objects of the cluster, and are never
// combined or dropped.
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

// Record notes an Event about an object. It implements engine.EventRecorder.
func (c *Cluster) Record(about corev1.ObjectReference, eventType, reason, action, note string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, Event{Time: c.clock.Now(), About: about, Type: eventType, Reason: reason, Action: action,
		Note: note})
}
