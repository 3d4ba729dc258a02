package access

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"reconcel/engine/events"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
)

// An EventRecorder records Events about objects. The note has at most events.LongestNote bytes.
type EventRecorder interface {
	Record(about corev1.ObjectReference, eventType, reason, action, note string)
}

// An EventFilter says which Events are sent. Warnings are always sent.
type EventFilter string

// The filters.
const (
	// EventsChanges leaves out what a condition says, for kinds that have conditions.
	EventsChanges EventFilter = "changes"
	// EventsAll leaves out nothing.
	EventsAll EventFilter = "all"
	// EventsWarnings leaves out everything but Warnings.
	EventsWarnings EventFilter = "warnings"
)

// warningsOnly discards Normal Events.
type warningsOnly struct{ EventRecorder }

// Record implements EventRecorder.
func (w warningsOnly) Record(about corev1.ObjectReference, eventType, reason, action, note string) {
	if eventType != corev1.EventTypeNormal {
		w.EventRecorder.Record(about, eventType, reason, action, note)
	}
}

// Of returns a recorder that sends what the filter passes to the next one.
func (f EventFilter) Of(next EventRecorder) EventRecorder {
	if f == EventsWarnings {
		return warningsOnly{next}
	}
	return next
}

// A Recorder records Events about primaries.
type Recorder struct{ EventRecorder }

// Normal records an Event that reports no trouble.
func (r Recorder) Normal(about *watch.Object, reason, note string) {
	r.event(about, corev1.EventTypeNormal, reason, note)
}

// Warning records an Event that reports trouble.
func (r Recorder) Warning(about *watch.Object, reason, note string) {
	r.event(about, corev1.EventTypeWarning, reason, note)
}

func (r Recorder) event(about *watch.Object, eventType, reason, note string) {
	r.Record(reference(about), eventType, reason, "Reconcile", bounded(note))
}

// ReportRules records a Warning about rules. It is about the ConfigMap of the inventory,
// because rules are no objects.
func (c *Cluster) ReportRules(reason, action, note string) {
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: c.Options.Namespace,
		Name: inventory.Name(c.Options.Name)}
	c.Events.Record(about, corev1.EventTypeWarning, reason, action, bounded(note))
}

// bounded truncates a note that is too long for the API server.
func bounded(note string) string {
	if len(note) > events.LongestNote {
		return strings.ToValidUTF8(note[:events.LongestNote], "")
	}
	return note
}

func reference(o *watch.Object) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
