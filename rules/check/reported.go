package check

import (
	"fmt"
	"slices"

	"reconcel/rules/lint"
)

// reported warns, once for each kind, if the primary has no status.conditions: the
// API server would prune the conditions, so that only Events show a failure. If the
// rule itself has conditions, that is an error already.
func (r *rule) reported() {
	if r.kind == nil || !r.kind.Custom || len(r.src.Conditions) > 0 || slices.Contains(r.found.Unreported, r.kind.GVK) || r.set.Conditions(r.kind.GVK) != nil {
		return
	}
	name := r.kind.GVK.Kind
	r.warnf(lint.NoConditions, r.src.For.Kind.Pos, "for.kind: %s has no status.conditions: reconcel cannot report on the resource", name).Hint =
		fmt.Sprintf("add to the CRD of %s what reconcel validate -v prints", name)
	r.found.Unreported = append(r.found.Unreported, r.kind.GVK)
}
