package engine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// TestReportedStates reads each state from the conditions that the engine writes for it.
func TestReportedStates(t *testing.T) {
	reasons := map[state][]string{
		ready: {reasonReconciled}, progressing: {reasonProgressing}, retrying: {reasonRetrying}, paused: {reasonPaused},
		waiting: {reasonWaiting, reasonFinalizing, reasonDeleting, reasonNamespaceEnding},
		stalled: {reasonForbidden, reasonContested},
	}
	for s := range states {
		for _, reason := range reasons[s] {
			draft := &statusDraft{pass: &pass{rendering: &rules.Rendering{}}, list: discover.KeyedConditions, total: outcome{state: s, reason: reason}}
			var conditions []metav1.Condition
			for _, c := range draft.conditions() {
				conditions = append(conditions, metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason})
			}
			if got, by := ReportedState(conditions); got != s.String() || by.Reason != reason {
				t.Errorf("%s for the reason %s is reported as %s for the reason %s", s, reason, got, by.Reason)
			}
		}
		if len(reasons[s]) == 0 {
			t.Errorf("the state %s has no test", s)
		}
	}
}
