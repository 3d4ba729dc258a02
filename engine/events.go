package engine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
)

// An EventRecorder records Events about objects. The note has at most 1024 bytes.
type EventRecorder interface {
	Record(about corev1.ObjectReference, eventType, reason, action, note string)
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
	const longest = 1024
	if len(note) > longest {
		return strings.ToValidUTF8(note[:longest], "")
	}
	return note
}

func reference(o *watch.Object) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
