package rules

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// settleAll notes what keeps a child as a whole from being rendered.
func (r *run) settleAll(c *ChildResult, where string, res result) {
	switch {
	case res.err != nil:
		c.State, c.Waits = Failed, c.Waits[:0]
		if c.Err == nil {
			c.Err = r.failure(fmt.Sprintf("child %q", c.Child.ID), where, res.err)
		}
	case res.unknown != nil && c.State != Failed:
		if r.excluded(res.unknown) != nil {
			c.State, c.Waits = Excluded, c.Waits[:0]
			return
		}
		if c.State != Excluded {
			c.State = Waiting
			c.Waits = merged(c.Waits, r.trails(res.unknown))
		}
	}
}

// settle notes what keeps an object from being rendered. An error is worse
// than waiting, and what waits for an excluded child is excluded itself.
func (r *run) settle(d *Desired, where string, res result) {
	switch {
	case res.err != nil:
		d.State, d.Waits = Failed, d.Waits[:0]
		if d.Err == nil {
			d.Err = r.failure(d.Subject(), where, res.err)
		}
	case res.unknown != nil && d.State != Failed:
		if r.excluded(res.unknown) != nil {
			d.State = Excluded
			d.Waits = d.Waits[:0]
			return
		}
		if d.State != Excluded {
			d.State = Waiting
			d.Waits = merged(d.Waits, r.trails(res.unknown))
		}
	}
}

// failure puts an expression's error into words: place, rule, what, field and
// reason.
func (r *run) failure(what, field string, err *expr.Error) *Failure {
	message := err.Message
	for _, s := range []string{field, what} {
		if s != "" {
			message = s + ": " + message
		}
	}
	return &Failure{Reason: RuleError, Message: fmt.Sprintf("%s: rule %q: %s", err.Pos, r.rule.Name, message)}
}

// excluded returns the ids of the excluded children among what an unknown
// waits for. Those will not come.
func (r *run) excluded(u *types.Unknown) []string {
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

// excludedIn is excluded for a result, which may be known.
func (r *run) excludedIn(res result) []string {
	if res.unknown == nil {
		return nil
	}
	return r.excluded(res.unknown)
}

// excluded reports whether nothing of the child is to exist.
func (c *ChildResult) excluded() bool {
	return c.State == Excluded || !c.Child.Many() && len(c.Objects) > 0 && c.Objects[0].State == Excluded
}

// trails returns what an unknown waits for. An object that was looked up in
// vain is named instead of the field that was to be read from it.
func (r *run) trails(u *types.Unknown) []string {
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

// missing remembers what a lookup did not find, to be named by whatever waits
// for it.
func (r *run) missing(l *Lookup, q Query) {
	name := q.Name
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	r.absent = append(r.absent, absence{l.ID, l.GVK.Kind + "/" + name})
}
