package rules

import (
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
)

// readiness decides whether live objects are ready.
type readiness struct {
	*runState
	settling    *settling
	evaluator   *evaluator
	liveObjects *liveObjects
}

// assessReadiness sets the readiness of the live child. A child that is not rendered, or
// does not carry this rendering yet, is Progressing whatever its status says: that
// status belongs to an older rendering.
func (r *readiness) assessReadiness(d *Desired) {
	d.Readiness = kstatus.Progressing
	live := d.Live.Object
	switch {
	case d.State == Excluded:
		d.Reason = "excluded by when"
	case d.State == Waiting:
		d.Reason = waitsFor(d.Waits)
	case d.State == Failed:
		d.Reason = cannotRender
	case live == nil:
		d.Reason = "not created yet"
	case d.Live.leaves():
		d.Reason = "being deleted"
	case d.Live.Done != nil && !d.Live.Done.covers(d.Child, r.buf[d.span.start:d.span.end]):
		d.Reason = "not created yet"
	case d.Live.Done != nil:
		d.Readiness, d.Reason = d.Live.Done.readiness()
		d.Available = d.Readiness == kstatus.Ready
	case !d.carriesRendering():
		d.Reason = "not updated yet"
		if d.Child.Replaces() && d.Child.IsCollection() {
			is, _ := r.judgeLive(d)
			d.Available = is == kstatus.Ready
		}
	default:
		d.Readiness, d.Reason = r.judgeLive(d)
		d.Available = d.Readiness == kstatus.Ready
	}
}

// judgeLive returns the readiness of the live child, regardless of the rendering that
// it carries.
func (r *readiness) judgeLive(d *Desired) (kstatus.Readiness, string) {
	r.child = r.liveObjects.object(d.Child.GVK, d.Live.Object)
	defer func() { r.child = nil }()
	if is, why := r.askFailed(d); is == kstatus.Stalled {
		return is, why
	}
	usual, cause := kstatus.Judge(d.Child.GVK.GroupKind(), d.Live.Object)
	if d.Child.readyWhen == nil {
		return usual, cause
	}
	is, why := r.askReady(d)
	if is == kstatus.Progressing && d.Child.failWhen == nil && usual == kstatus.Stalled {
		return usual, cause // A readyWhen says nothing about failure.
	}
	return is, why
}

func waitsFor(what []string) string { return "waits for " + strings.Join(what, ", ") }

// askFailed evaluates failWhen. An unknown value does not count as failed.
func (r *readiness) askFailed(d *Desired) (kstatus.Readiness, string) {
	if d.Child.failWhen == nil {
		return kstatus.Progressing, ""
	}
	yes, res := r.evaluator.evalBool(d.Child.failWhen)
	switch {
	case res.err != nil:
		return kstatus.Stalled, r.settling.failure(d.Subject(), "failWhen", res.err).Message
	case yes:
		return kstatus.Stalled, "failWhen is true: " + d.Child.failWhen.Text()
	}
	return kstatus.Progressing, ""
}

const cannotRender = "cannot be rendered"

// askReady evaluates readyWhen. An error makes the object Stalled, because it
// persists until something changes.
func (r *readiness) askReady(d *Desired) (kstatus.Readiness, string) {
	yes, res := r.evaluator.evalBool(d.Child.readyWhen)
	switch {
	case res.err != nil:
		return kstatus.Stalled, r.settling.failure(d.Subject(), "readyWhen", res.err).Message
	case res.unknown != nil:
		return kstatus.Progressing, "readyWhen waits for " + strings.Join(expr.Trails(res.unknown), ", ")
	case yes:
		return kstatus.Ready, ""
	}
	return kstatus.Progressing, "readyWhen is false"
}

// leaves reports whether the object is being deleted.
func (l Live) leaves() bool { return l.Deleted || isBeingDeleted(l.Object) }

func isBeingDeleted(object map[string]any) bool {
	_, ok := mapAt(object, "metadata")["deletionTimestamp"]
	return ok
}
