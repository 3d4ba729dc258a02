package rules

import (
	"strings"

	"reconcel/rules/expr"
)

// A value is the initial value of an ignored field.
type value struct {
	span span
	json []byte // empty: it is absent
}

// decideIgnored decides which fields the rendering of an object ignores. While the
// decision is not known, the object stays as it is, because neither answer is safe.
// A condition that reads an excluded child is an error: otherwise it would exclude
// the whole object because of one field.
func (r *writing) decideIgnored(d *Desired) bool {
	for i := range d.Child.ignored {
		f := &d.Child.ignored[i]
		ignored := true
		if f.when != nil {
			var res result
			ignored, res = r.evaluator.evalBool(f.when)
			if ids := r.settling.excluded(res.unknown); ids != nil {
				res = failedAt(f.when.Pos(), "reads "+strings.Join(ids, ", ")+", which when excludes: read it with .? or has()")
			}
			if !res.ok() {
				r.settling.settle(d, f.entry+".when", res)
				return false
			}
		}
		d.ignoring = append(d.ignoring, ignored)
	}
	return true
}

// writeIgnorable writes a field with a condition into the rendering, unless the
// field is ignored.
func (r *writing) writeIgnorable(o *op) result {
	if r.current.ignoring[o.index] {
		return result{}
	}
	mark := len(r.buf)
	r.buf = append(r.buf, o.lit...)
	start := len(r.buf)
	if _, res := r.execute(o.ops); !res.ok() {
		return res
	}
	end := len(r.buf)
	if end == start || o.omit != nil && expr.Omitted(o.omit, o.key, r.buf[start:end-1]) {
		r.buf = r.buf[:mark]
	}
	return result{}
}

// writeIgnored computes the initial values of ignored fields. They are not needed
// once the object exists.
func (r *writing) writeIgnored(d *Desired) {
	for i := range d.Child.ignored {
		if !d.ignoring[i] {
			d.ignored = append(d.ignored, value{})
			continue
		}
		if r.full {
			if d.Live.Object == nil {
				r.refuseFull(d)
			}
			return
		}
		start := len(r.buf)
		r.limitTo(start)
		f := &d.Child.ignored[i]
		o, res := r.execute(f.ops)
		if !res.ok() {
			r.noteFull()
			r.buf = r.buf[:start]
			if d.Live.Object == nil || f.generated {
				r.settling.settle(d, o.where, res)
			}
		}
		if end := len(r.buf); end > start {
			r.buf = r.buf[:end-1] // The comma of the entry.
		}
		if res.ok() && f.generated {
			r.settling.settle(d, f.entry, r.checkGenerated(d, r.buf[start:]))
		}
		d.ignored = append(d.ignored, value{span: span{start, len(r.buf)}})
	}
}
