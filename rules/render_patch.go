package rules

import "reconcel/rules/expr"

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
