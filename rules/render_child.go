package rules

import (
	"crypto/sha256"

	"reconcel/rules/kstatus"
)

// renderChildren renders the children in the order of their dependencies.
func (r *run) renderChildren() {
	for i := range r.result.Children {
		c := &r.result.Children[i]
		r.enterChild(c)
		r.expansion.prepareChild(c)
		for j := range c.Objects {
			d := &c.Objects[j]
			r.current = d
			if d.State == Rendered {
				r.writing.write(d)
			}
			if d.State == Rendered {
				r.writing.writeIgnored(d)
			}
			r.readiness.assessReadiness(d)
			if d.State == Rendered {
				r.closedGates(d)
			}
		}
		r.current = nil
	}
	r.enterChild(nil)
}

// write renders an object into the buffer.
func (r *writing) write(d *Desired) {
	start := len(r.buf)
	if r.full {
		r.refuseFull(d)
		return
	}
	if !r.decideIgnored(d) {
		return
	}
	r.limitTo(start)
	r.marks = r.marks[:0]
	if o, res := r.execute(d.Child.body.ops); !res.ok() {
		r.noteFull()
		r.buf = r.buf[:start]
		r.settling.settle(d, o.where, res)
		return
	}
	if why := whyOversize(r.buf[start:]); why != "" {
		r.buf = r.buf[:start]
		r.settling.settle(d, "template", failedAt(d.Child.Pos, why))
		return
	}
	d.span = span{start, len(r.buf)}
	sum := sha256.Sum256(r.buf[start:])
	copy(d.Hash[:], sum[:])
}

// closedGates records which of the earlier children of d are not ready. It does not
// wait for excluded children.
func (r *run) closedGates(d *Desired) {
	for _, i := range d.Child.gates {
		if why := r.result.Children[i].unready(); why != "" {
			d.Waits = mergeSorted(d.Waits, []string{why})
		}
	}
}

// unready returns what those that wait for an object to be ready wait for.
func (d *Desired) unready(name string) string {
	if d.Identity.Name != "" {
		name += " " + quoteJSON(d.Identity.Name)
	}
	return name + " to be ready: " + d.Reason
}

// unready returns which part of a child is not ready, or "".
func (c *ChildResult) unready() string {
	if c.State == Excluded {
		return ""
	}
	if c.State != Rendered && len(c.Objects) == 0 {
		return c.Child.ID + " to be ready: " + c.whyUnsettled()
	}
	for i := range c.Objects {
		d := &c.Objects[i]
		if d.State == Excluded || d.Readiness == kstatus.Ready {
			continue
		}
		return d.unready(d.Child.ID)
	}
	return ""
}

func (c *ChildResult) whyUnsettled() string {
	if c.State == Failed {
		return cannotRender
	}
	return waitsFor(c.Waits)
}
