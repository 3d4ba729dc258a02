package rules

import (
	"fmt"
	"math"

	"reconcel/rules/source"
)

// An expansion lists the objects of a child and their identities.
type expansion struct {
	*runState
	settling    *settling
	evaluator   *evaluator
	texts       *texts
	liveObjects *liveObjects
	loops       *loops
}

// listChildren resets the results of the rule's children.
func (r *expansion) listChildren() {
	children := resize(r.result.Children, len(r.rule.Children))
	for i := range children {
		c := &children[i]
		*c = ChildResult{Child: r.rule.Children[i], Waits: c.Waits[:0], Objects: c.Objects[:0], Finished: c.Finished[:0],
			MaxUnavailable: 1}
	}
	r.result.Children = children
}

// prepareChild decides which objects a child has, when they are first needed.
func (r *expansion) prepareChild(c *ChildResult) {
	if c.prepared || c.preparing {
		return
	}
	c.preparing = true
	outer := r.current
	r.current = nil
	r.expandChild(c)
	r.current = outer
	c.prepared, c.preparing = true, false
	if c.State == Waiting || c.State == Failed {
		for i := range c.Objects {
			d := &c.Objects[i]
			d.State, d.Err, d.Waits = c.State, c.Err, append(d.Waits[:0], c.Waits...)
		}
	}
}

// expandChild decides whether a child should exist, and with which objects.
func (r *expansion) expandChild(c *ChildResult) {
	if c.Child.Timeout > 0 && !r.result.Teardown {
		c.State = Excluded // Entries of finalize wait for the deletion of the primary.
		return
	}
	if p := c.Child.when; p != nil {
		yes, res := r.evaluator.evalBool(p)
		switch {
		case !res.ok():
			r.settling.settleAll(c, "when", res)
		case !yes:
			c.State = Excluded
		}
		if c.State == Excluded {
			return
		}
	}
	c.included = c.State == Rendered
	if p := c.Child.unavailable; p != nil {
		var res result // While it is not known, it is 1, and the child does not wait for it.
		if c.MaxUnavailable, res = r.evaluator.wholeNumber(p, 1, c.Child); res.err != nil {
			r.settling.settleAll(c, "maxUnavailable", res)
		}
	}
	if c.Child.Sequential {
		c.MaxUnavailable = math.MaxInt // Those after the one that is replaced wait anyway, available or not.
	}
	switch {
	case c.Child.replicas != nil:
		r.expandReplicas(c)
	case len(c.Child.iterators) > 0:
		r.expandEach(c)
	case r.hasRoom(c, 1, "template", c.Child.Pos):
		// Identify the object even if the child waits: expressions may read an
		// existing one.
		r.identify(r.add(c))
	}
}

// add appends an object to a child.
func (r *expansion) add(c *ChildResult) *Desired {
	at := len(c.Objects)
	c.Objects = resize(c.Objects, at+1)
	d := &c.Objects[at]
	*d = Desired{Child: c.Child, installation: r.in.Installation, Index: at, Waits: d.Waits[:0],
		ignored: d.ignored[:0], ignoring: d.ignoring[:0], values: d.values[:0]}
	r.count(c, 1)
	return d
}

// count adds objects of a child to those that the primary owns.
func (r *expansion) count(c *ChildResult, n int) {
	r.objects += n
	if c.Child.MaxObjects == 0 {
		r.sharing += n
	}
}

// hasRoom reports whether the primary may own more objects. It fails the child
// otherwise.
func (r *expansion) hasRoom(c *ChildResult, more int, where string, pos source.Pos) bool {
	why := r.whyFull(c, more)
	if why != "" {
		r.settling.settleAll(c, where, failedAt(pos, why))
	}
	return why == ""
}

// whyFull returns the limit that more objects of a child would exceed, or "".
func (r *expansion) whyFull(c *ChildResult, more int) string {
	switch most := c.Child.MaxObjects; {
	case r.objects+more > mostChildren:
		return fmt.Sprintf("more than %d objects for one resource: make several resources", mostChildren)
	case most > 0 && len(c.Objects)+more > most:
		return fmt.Sprintf("more than %d objects: maxObjects can be up to %d", most, mostChildren)
	case most == 0 && r.sharing+more > maxChildren:
		return fmt.Sprintf("more than %d objects for one resource", maxChildren) + c.Child.howToRaise()
	}
	return ""
}

// expandEach adds an object for each element, or for each combination of elements
// from several lists.
func (r *expansion) expandEach(c *ChildResult) {
	if c.State != Rendered {
		return // Nothing may be deleted, whatever the list contains.
	}
	scratch := Desired{Child: c.Child}
	r.current = &scratch
	last := c.Child.iterators[len(c.Child.iterators)-1].in.Pos()
	r.settling.settleAll(c, "forEach", r.loops.eachElement(c.Child.iterators, &scratch.values, func() result {
		if why := r.whyFull(c, 1); why != "" {
			return failedAt(last, why)
		}
		d := r.add(c)
		d.values = append(d.values, scratch.values...)
		return result{}
	}))
	if c.State != Rendered {
		r.count(c, -len(c.Objects))
		c.Objects = c.Objects[:0]
		return
	}
	for i := range c.Objects {
		r.identify(&c.Objects[i])
	}
}
