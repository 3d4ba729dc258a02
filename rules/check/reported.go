package check

import "fmt"

// reported warns, once for each kind, where reconcel has no place to say how the
// primary is doing: its conditions would be dropped by the API server, so that
// nobody sees a failure but in Events. Where the rule has conditions of its own
// that is an error already.
func (r *rule) reported() {
	if r.kind == nil || !r.kind.Custom || len(r.src.Conditions) > 0 || r.unreported[r.kind.GVK] || r.set.Conditions(r.kind.GVK) != nil {
		return
	}
	r.unreported[r.kind.GVK] = true
	name := r.kind.GVK.Kind
	r.warnf(r.src.For.Kind.Pos, "for.kind: %s has no status.conditions: reconcel cannot report on the resource", name).Hint =
		fmt.Sprintf("add to the CRD of %s what reconcel validate -v prints", name)
	r.found.Unreported = append(r.found.Unreported, r.kind.GVK)
}
