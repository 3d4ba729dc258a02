package engine

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/report"
	"reconcel/rules"
)

// annotated is a primary with the annotation that reports a status.
func annotated(t *testing.T, draft *report.StatusDraft) *unstructured.Unstructured {
	t.Helper()
	patch, err := report.AnnotationPatch(draft.Ready())
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
	reasons := map[outcome.State][]string{
		outcome.Ready: {outcome.ReasonReconciled}, outcome.Progressing: {outcome.ReasonProgressing}, outcome.Retrying: {outcome.ReasonRetrying}, outcome.Paused: {outcome.ReasonPaused},
		outcome.Waiting: {outcome.ReasonWaiting, outcome.ReasonFinalizing, outcome.ReasonDeleting, outcome.ReasonNamespaceEnding},
		outcome.Stalled: {outcome.ReasonForbidden, outcome.ReasonContested},
	}
	for s := range outcome.States {
		for _, reason := range reasons[s] {
			draft := passFor(access.Subject{Primary: &plan.PrimaryKind{Plan: &plan.Plan{}}, Rendering: &rules.Rendering{}}).Reporter.Draft(discover.KeyedConditions, outcome.Outcome{State: s, Reason: reason})
			var conditions []metav1.Condition
			for _, c := range draft.Conditions() {
				conditions = append(conditions, metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason})
			}
			if got, report, ok := report.ReportedAnnotation(annotated(t, draft)); !ok || got != s.String() || report.Reason != reason {
				t.Errorf("%s for the reason %s is reported in the annotation as %s for the reason %s", s, reason, got, report.Reason)
			}
			if got, by := report.ReportedState(conditions); got != s.String() || by.Reason != reason {
				t.Errorf("%s for the reason %s is reported as %s for the reason %s", s, reason, got, by.Reason)
			}
		}
		if len(reasons[s]) == 0 {
			t.Errorf("the state %s has no test", s)
		}
	}
}
