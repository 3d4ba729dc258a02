package engine

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// annotated is a primary with the annotation that reports a status.
func annotated(t *testing.T, draft *statusDraft) *unstructured.Unstructured {
	t.Helper()
	patch, err := annotationPatch(draft.ready())
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(patch, &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: managedfields.AnnotationManager("a/b"), Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:reconcel.dev/status":{}}}}`),
	}})
	return u
}

// TestReportedStates reads each state from the conditions and the annotation that the engine writes for it.
func TestReportedStates(t *testing.T) {
	reasons := map[state][]string{
		ready: {reasonReconciled}, progressing: {reasonProgressing}, retrying: {reasonRetrying}, paused: {reasonPaused},
		waiting: {reasonWaiting, reasonFinalizing, reasonDeleting, reasonNamespaceEnding},
		stalled: {reasonForbidden, reasonContested},
	}
	for s := range states {
		for _, reason := range reasons[s] {
			draft := &statusDraft{pass: &pass{primary: &primaryKind{plan: &plan{}}, rendering: &rules.Rendering{}}, list: discover.KeyedConditions, total: outcome{state: s, reason: reason}}
			var conditions []metav1.Condition
			for _, c := range draft.conditions() {
				conditions = append(conditions, metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason})
			}
			if got, report, ok := ReportedAnnotation(annotated(t, draft)); !ok || got != s.String() || report.Reason != reason {
				t.Errorf("%s for the reason %s is reported in the annotation as %s for the reason %s", s, reason, got, report.Reason)
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
