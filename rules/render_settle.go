package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
)

// settling turns the results of expressions into states of objects: rendered, waiting,
// failed, excluded.
type settling struct{ *runState }

// settleAll records why a whole child cannot be rendered.
func (r *settling) settleAll(c *ChildResult, where string, res result) {
	if res.err != nil && c.Err == nil {
		c.Err = r.failure(fmt.Sprintf("child %q", c.Child.ID), where, res.err)
	}
	c.State, c.Waits = r.settled(c.State, c.Waits, res)
	if by := r.excluded(res.unknown); c.State == Excluded && by != nil {
		c.Excluded = by
	}
}

// settle records why an object cannot be rendered.
func (r *settling) settle(d *Desired, where string, res result) {
	if res.err != nil && d.Err == nil {
		d.Err = r.failure(d.Subject(), where, res.err)
	}
	d.State, d.Waits = r.settled(d.State, d.Waits, res)
	if d.State != Excluded {
		return
	}
	if by := r.excluded(res.unknown); by != nil {
		d.Excluded = by
	}
}

// settled returns the state after one more result. Failed takes precedence over
// Waiting, and an object that waits for an excluded child is excluded itself.
func (r *settling) settled(state State, waits []string, res result) (State, []string) {
	switch {
	case res.err != nil:
		return Failed, waits[:0]
	case res.unknown == nil || state == Failed || state == Excluded:
		return state, waits
	case r.excluded(res.unknown) != nil:
		return Excluded, waits[:0]
	}
	return Waiting, mergeSorted(waits, r.waitTrails(res.unknown))
}

// failure returns the message of an expression's error: position, rule, subject,
// field and reason. The message of fail() comes first.
func (r *settling) failure(what, field string, err *expr.Error) *Failure {
	parts := slices.DeleteFunc([]string{fmt.Sprintf("%s: rule %q", err.Pos, r.rule.Name), what, field},
		func(part string) bool { return part == "" })
	where := strings.Join(parts, ": ")
	if err.Authored {
		return &Failure{Reason: FailCalled, Message: err.Message + " (" + where + ")"}
	}
	return &Failure{Reason: RuleError, Message: where + ": " + err.Message}
}

// excluded returns the ids of the excluded children that an unknown waits for.
// These children will not be created.
func (r *settling) excluded(u *types.Unknown) []string {
	if u == nil || !r.result.excludesAny() {
		return nil
	}
	var out []string
	for _, trail := range expr.Trails(u) {
		root := expr.Root(trail)
		if v, ok := r.rule.vars[root]; ok && v.kind == childVariable &&
			r.result.Children[v.index].excluded() && !slices.Contains(out, root) {
			out = append(out, root)
		}
	}
	return out
}

// excluded reports whether the child has no objects because of its when.
func (c *ChildResult) excluded() bool {
	return c.State == Excluded || !c.Child.IsCollection() && len(c.Objects) > 0 && c.Objects[0].State == Excluded
}

// excludesAny reports whether any child is excluded.
func (res *RuleResult) excludesAny() bool {
	for i := range res.Children {
		if res.Children[i].excluded() {
			return true
		}
	}
	return false
}

// waitsOf returns what a field or patch waits for.
func (r *settling) waitsOf(u *types.Unknown) []string {
	if ids := r.excluded(u); ids != nil {
		return []string{"a child that its when excludes (" + strings.Join(ids, ", ") + ")"}
	}
	return r.waitTrails(u)
}

// waitTrails returns what an unknown waits for. If a looked-up object does not exist,
// it names the object instead of the field.
func (r *settling) waitTrails(u *types.Unknown) []string {
	trails := expr.Trails(u)
	for i, t := range trails {
		for _, a := range r.absent {
			if expr.Root(t) == a.id {
				trails[i] = a.object + " (" + a.id + ")"
			}
		}
	}
	slices.Sort(trails)
	return slices.Compact(trails)
}

// An absence is a looked-up object that does not exist.
type absence struct{ id, object string }

// noteAbsent records an object that a lookup did not find, for messages about waiting.
func (r *settling) noteAbsent(l *Lookup, q Query) {
	name := q.Name
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	r.absent = append(r.absent, absence{l.ID, l.GVK.Kind + "/" + name})
}

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
