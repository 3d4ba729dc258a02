package engine

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// waitingReasons are the reasons of the state waiting.
var waitingReasons = []string{reasonWaiting, reasonFinalizing, reasonDeleting, reasonNamespaceEnding}

// ReportedState returns the state that the conditions of a primary report, as in the
// metrics, and the condition that explains it. The state is empty if the conditions
// do not come from reconcel; the condition is nil without a condition Ready.
func ReportedState(conditions []metav1.Condition) (string, *metav1.Condition) {
	total := meta.FindStatusCondition(conditions, conditionReady)
	moving := meta.FindStatusCondition(conditions, conditionReconciling)
	isMoving := meta.IsStatusConditionTrue(conditions, conditionReconciling)
	switch {
	case total == nil:
		return "", nil
	case meta.IsStatusConditionTrue(conditions, conditionStalled):
		return stalled.String(), meta.FindStatusCondition(conditions, conditionStalled)
	case total.Reason == reasonPaused:
		return paused.String(), total
	case isMoving && moving.Reason == reasonRetrying:
		return retrying.String(), moving
	case isMoving && slices.Contains(waitingReasons, moving.Reason):
		return waiting.String(), moving
	case isMoving:
		return progressing.String(), moving
	case total.Status == metav1.ConditionTrue:
		return ready.String(), total
	}
	return "", total
}

// ReportedAnnotation returns the state that rules.AnnotationStatus of a primary reports, as
// in the metrics. ok is false without an annotation that reconcel has written: another
// controller may have copied it from another object.
func ReportedAnnotation(u *unstructured.Unstructured) (state string, report StatusAnnotation, ok bool) {
	for manager, fields := range managedfields.ManagersOf(u.Object).Patches() {
		ok = ok || managedfields.IsAnnotationManager(manager) && fields.Names(rules.AnnotationStatus)
	}
	if !ok || json.Unmarshal([]byte(u.GetAnnotations()[rules.AnnotationStatus]), &report) != nil {
		return "", report, false
	}
	switch {
	case report.Ready == rules.True:
		return ready.String(), report, true
	case report.Reason == reasonPaused:
		return paused.String(), report, true
	case report.Reason == reasonRetrying:
		return retrying.String(), report, true
	case report.Reason == reasonProgressing:
		return progressing.String(), report, true
	case slices.Contains(waitingReasons, report.Reason):
		return waiting.String(), report, true
	}
	return stalled.String(), report, true
}
