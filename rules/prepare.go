package rules

import (
	"fmt"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// listChildren lists the rule's children, of which nothing is known yet.
func (r *run) listChildren() {
	children := resize(r.result.Children, len(r.rule.Children))
	for i := range children {
		c := &children[i]
		*c = ChildResult{Child: r.rule.Children[i], Waits: c.Waits[:0], Objects: c.Objects[:0], Finished: c.Finished[:0], MaxUnavailable: 1}
	}
	r.result.Children = children
}

// prepare settles which objects of a child there should be, as soon as
// something needs to know.
func (r *run) prepare(c *ChildResult) {
	if c.prepared || c.preparing {
		return
	}
	c.preparing = true
	outer := r.current
	r.current = nil
	r.expand(c)
	r.current = outer
	c.prepared, c.preparing = true, false
	if c.State == Waiting || c.State == Failed {
		for i := range c.Objects {
			d := &c.Objects[i]
			d.State, d.Err, d.Waits = c.State, c.Err, append(d.Waits[:0], c.Waits...)
		}
	}
}

// expand decides whether a child should exist, and which objects that makes.
func (r *run) expand(c *ChildResult) {
	if c.Child.Timeout > 0 && !r.result.Leaving {
		c.State = Excluded // It is for the end.
		return
	}
	if p := c.Child.when; p != nil {
		yes, res := r.truth(p)
		switch {
		case !res.ok():
			r.settleAll(c, "when", res)
		case !yes:
			c.State = Excluded
		}
		if c.State == Excluded {
			return
		}
	}
	if p := c.Child.unavailable; p != nil {
		if v, err := r.eval(p); err != nil || !types.IsUnknown(v) {
			c.MaxUnavailable = r.count(c, p, "maxUnavailable", 1)
		} // What is not known yet is 1.
	}
	switch {
	case c.Child.replicas != nil:
		r.expandReplicas(c)
	case len(c.Child.iterators) > 0:
		r.expandEach(c)
	case r.room(c, 1, "template", c.Child.Pos):
		// Also when it has to wait: whatever exists can still be read.
		r.identify(r.add(c))
	}
}

// add appends an object to a child.
func (r *run) add(c *ChildResult) *Desired {
	at := len(c.Objects)
	c.Objects = resize(c.Objects, at+1)
	d := &c.Objects[at]
	*d = Desired{Child: c.Child, installation: r.in.Installation, Index: at, Waits: d.Waits[:0],
		ignored: d.ignored[:0], ignoring: d.ignoring[:0], values: d.values[:0]}
	r.objects++
	return d
}

// room reports whether the primary may own so many objects more, and fails the
// child otherwise.
func (r *run) room(c *ChildResult, more int, where string, pos source.Pos) bool {
	if r.objects+more <= maxChildren {
		return true
	}
	r.settleAll(c, where, result{err: &expr.Error{Pos: pos, Message: fmt.Sprintf("more than %d objects for one resource", maxChildren)}})
	return false
}

// count evaluates an expression for a whole number that must not be less than
// least. It fails the child otherwise.
func (r *run) count(c *ChildResult, p *expr.Program, where string, least int64) int {
	v, err := r.eval(p)
	if err != nil {
		r.settleAll(c, where, result{err: err})
		return int(least)
	}
	message := "must be a whole number, but the value is absent"
	if v, ok := unwrap(v); ok {
		switch v := v.(type) {
		case *types.Unknown:
			r.settleAll(c, where, result{unknown: v})
			return int(least)
		case types.Int:
			if int64(v) >= least && v <= maxChildren {
				return int(v)
			}
			message = fmt.Sprintf("must be at least %d and at most %d", least, maxChildren)
		default:
			message = "must be a whole number, got " + typeName(v)
		}
	}
	r.settleAll(c, where, result{err: &expr.Error{Pos: p.Pos(), Message: message}})
	return int(least)
}

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

// Subject names the object in messages: child "web", or child "web"[2] for one
// of several.
func (d *Desired) Subject() string {
	if d.Child.Many() {
		return fmt.Sprintf("child %q[%d]", d.Child.ID, d.Index)
	}
	return fmt.Sprintf("child %q", d.Child.ID)
}
