package check

import (
	"fmt"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/syntax"
)

// kindOf returns the kind of a rule's primaries.
func kindOf(r *syntax.Rule) runtimeschema.GroupVersionKind {
	return gvkIn(&r.For)
}

func gvkIn(f *syntax.For) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(f.APIVersion.Value, f.Kind.Value)
}

// reported checks where the state of the primary is reported.
func (r *rule) reported() {
	if r.kind == nil {
		return
	}
	name := r.kind.GVK.Kind
	hasConditions := r.set.Conditions(r.kind.GVK) != nil
	if r.src.Report.Value == syntax.ReportAnnotation && hasConditions && !schema.BuiltInGroup(r.kind.GVK.Group) {
		r.errorf(r.src.Report.Pos, "report: %s has status.conditions, so reconcel reports there and writes no annotation", name).Hint = "remove report"
	}
	// The warning comes once for each kind: the API server would prune the conditions, so
	// that only Events show a failure. If the rule itself has conditions, that is an error already.
	if !r.kind.Custom || hasConditions || len(r.src.Conditions) > 0 || r.annotated[r.kind.GVK] || slices.Contains(r.found.Unreported, r.kind.GVK) {
		return
	}
	r.warnf(lint.NoConditions, r.src.For.Kind.Pos, "%s.kind: %s has no status.conditions: reconcel cannot report on the resource", r.src.For.Entry, name).Hint =
		fmt.Sprintf("add to the CRD of %s what reconcel validate -v prints, or write report: annotation", name)
	r.found.Unreported = append(r.found.Unreported, r.kind.GVK)
}
