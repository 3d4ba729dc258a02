package rules

import (
	"reconcel/rules/expr"
)

// renderStatus writes the status. It omits fields that wait or fail, and reports
// failures.
func (r *run) renderStatus() {
	t := r.rule.status
	if t == nil {
		return
	}
	start := len(r.buf)
	r.limit = start + maxObject
	r.buf = append(r.buf, '{')
	r.writing.executeLenient(t.ops, func(o *op, res result) {
		if res.err != nil {
			r.settling.statusFailure(r.settling.failure("", o.where, res.err))
			r.result.StatusFailed = append(r.result.StatusFailed, r.rule.statusPaths[o.where])
			return
		}
		r.result.StatusWaits = append(r.result.StatusWaits, FieldWait{Field: o.where, Waits: r.settling.waitsOf(res.unknown)})
	})
	r.buf = expr.Close(r.buf, '}')
	r.result.status = span{start, len(r.buf)}
}

// statusFailure records a failure of a field or condition.
func (r *settling) statusFailure(f *Failure) {
	r.result.StatusErrs = append(r.result.StatusErrs, *f)
	if r.result.StatusErr == nil {
		r.result.StatusErr = f
		return
	}
	if len(r.result.StatusErr.Message) <= maxMessage { // StatusErrs has the others.
		r.result.StatusErr.Message += "; " + f.Message
	}
}

// renderPatch writes the whole patch or nothing: if it omitted a field, reconcel
// would remove that field from the primary.
func (r *run) renderPatch() {
	t := r.rule.patch
	if t == nil || r.result.Teardown {
		return
	}
	start := len(r.buf)
	r.limit = start + maxObject
	r.marks = r.marks[:0]
	r.buf = append(r.buf, '{')
	o, res := r.writing.execute(t.ops)
	if where, err := r.queries.ownFieldRead(); err != nil && res.ok() {
		r.buf = r.buf[:start]
		r.result.PatchErr = r.settling.failure("", where, err)
		return
	}
	if !res.ok() {
		r.buf = r.buf[:start]
		if res.err != nil {
			r.result.PatchErr = r.settling.failure("", o.where, res.err)
		} else {
			r.result.PatchWaits = r.settling.waitsOf(res.unknown)
		}
		return
	}
	r.buf = expr.Close(r.buf, '}')
	r.result.patch = span{start, len(r.buf)}
}
