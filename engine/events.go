package engine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"reconcel/engine/discover"
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

// of returns a recorder that sends what the filter passes to the next one.
func (f EventFilter) of(next EventRecorder) EventRecorder {
	if f == EventsWarnings {
		return warningsOnly{next}
	}
	return next
}

// tellState records an Event about a state that a condition shows, if the kind has
// conditions.
func (p *pass) tellState(reason, note string) {
	list, known := p.cache.Conditions()
	if shown := known && list != discover.NoConditions; !shown || p.engine.options.Events == EventsAll {
		p.engine.events.normal(p.self, reason, note)
	}
}

// A recorder records Events about primaries.
type recorder struct{ EventRecorder }

func (r recorder) normal(about *watch.Object, reason, note string) {
	r.event(about, corev1.EventTypeNormal, reason, note)
}

func (r recorder) warning(about *watch.Object, reason, note string) {
	r.event(about, corev1.EventTypeWarning, reason, note)
}

func (r recorder) event(about *watch.Object, eventType, reason, note string) {
	r.Record(reference(about), eventType, reason, "Reconcile", bounded(note))
}

// ReportInvalidRules records an Event about rejected rules on the inventory's
// ConfigMap.
func (e *Engine) ReportInvalidRules(note string) { e.reportRules(reasonRulesInvalid, "Reload", note) }

// ReportRulesInvalidForCluster records an Event about active rules that no longer match the
// cluster's schemas, on the inventory's ConfigMap.
func (e *Engine) ReportRulesInvalidForCluster(note string) {
	e.reportRules(reasonRulesInvalidForCluster, "Check", note)
}

func (e *Engine) reportRules(reason, action, note string) {
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.options.Namespace, Name: inventory.Name(e.options.Name)}
	e.events.Record(about, corev1.EventTypeWarning, reason, action, bounded(note))
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
