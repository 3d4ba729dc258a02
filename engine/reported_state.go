package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
