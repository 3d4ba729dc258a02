package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
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
	if by := r.excluded(res.unknown); d.State == Excluded && by != nil {
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
// field and reason.
func (r *settling) failure(what, field string, err *expr.Error) *Failure {
	message := err.Message
	for _, s := range []string{field, what} {
		if s != "" {
			message = s + ": " + message
		}
	}
	return &Failure{Reason: RuleError, Message: fmt.Sprintf("%s: rule %q: %s", err.Pos, r.rule.Name, message)}
}

// excluded returns the ids of the excluded children that an unknown waits for.
// These children will not be created.
func (r *settling) excluded(u *types.Unknown) []string {
	if u == nil {
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
