package rules

import (
	"strings"

	"reconcel/rules/expr"
)

// assess says how far the live child is. A child that is not rendered, or that
// does not carry the rendering yet, is on its way whatever its status says:
// that status is of something older.
func (r *run) assess(d *Desired) {
	d.Readiness = Progressing
	live := d.Live.Object
	switch {
	case d.State == Excluded:
		d.Reason = "excluded by when"
	case d.State == Waiting:
		d.Reason = "waits for " + strings.Join(d.Waits, ", ")
	case d.State == Failed:
		d.Reason = cannotRender
	case live == nil:
		d.Reason = "not created yet"
	case deleted(live):
		d.Reason = "being deleted"
	case !d.carried():
		d.Reason = "not updated yet"
	case d.Child.readyWhen != nil:
		d.Readiness, d.Reason = r.askReady(d)
	default:
		d.Readiness, d.Reason = readiness(d.Child.GVK.GroupKind(), live)
	}
}

const cannotRender = "cannot be rendered"

// askReady evaluates readyWhen. If that fails for an object, it will fail again
// until something changes.
func (r *run) askReady(d *Desired) (Readiness, string) {
	r.child = d.Live.Object
	yes, res := r.truth(d.Child.readyWhen)
	r.child = nil
	switch {
	case res.err != nil:
		return Stalled, r.failure(subject(d), "readyWhen", res.err).Message
	case res.unknown != nil:
		return Progressing, "readyWhen waits for " + strings.Join(expr.Trails(res.unknown), ", ")
	case yes:
		return Ready, ""
	}
	return Progressing, "readyWhen is false"
}

func deleted(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	_, ok := metadata["deletionTimestamp"]
	return ok
}
