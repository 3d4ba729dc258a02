package report

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// waitingReasons are the reasons of the state waiting.
var waitingReasons = []string{outcome.ReasonWaiting, outcome.ReasonFinalizing, outcome.ReasonDeleting,
	outcome.ReasonNamespaceEnding}

// ReportedState returns the state that the conditions of a primary report, as in the
// metrics, and the condition that explains it. The state is empty if the conditions
// do not come from reconcel; the condition is nil without a condition Ready.
func ReportedState(conditions []metav1.Condition) (string, *metav1.Condition) {
	total := meta.FindStatusCondition(conditions, outcome.ConditionReady)
	moving := meta.FindStatusCondition(conditions, outcome.ConditionReconciling)
	isMoving := meta.IsStatusConditionTrue(conditions, outcome.ConditionReconciling)
	switch {
	case total == nil:
		return "", nil
	case meta.IsStatusConditionTrue(conditions, outcome.ConditionStalled):
		return outcome.Stalled.String(), meta.FindStatusCondition(conditions, outcome.ConditionStalled)
	case total.Reason == outcome.ReasonPaused:
		return outcome.Paused.String(), total
	case isMoving && moving.Reason == outcome.ReasonRetrying:
		return outcome.Retrying.String(), moving
	case isMoving && slices.Contains(waitingReasons, moving.Reason):
		return outcome.Waiting.String(), moving
	case isMoving:
		return outcome.Progressing.String(), moving
	case total.Status == metav1.ConditionTrue:
		return outcome.Ready.String(), total
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
		return outcome.Ready.String(), report, true
	case report.Reason == outcome.ReasonPaused:
		return outcome.Paused.String(), report, true
	case report.Reason == outcome.ReasonRetrying:
		return outcome.Retrying.String(), report, true
	case report.Reason == outcome.ReasonProgressing:
		return outcome.Progressing.String(), report, true
	case slices.Contains(waitingReasons, report.Reason):
		return outcome.Waiting.String(), report, true
	}
	return outcome.Stalled.String(), report, true
}
