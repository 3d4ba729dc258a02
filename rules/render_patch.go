package rules

import (
	"strings"

	"reconcel/rules/expr"
)

// renderPatch writes the whole patch or nothing: if it omitted a field, reconcel
// would remove that field from the primary.
func (r *run) renderPatch() {
	t := r.rule.patch
	if t == nil || r.result.Leaving {
		return
	}
	start := len(r.buf)
	r.limit = start + maxObject
	r.marks = r.marks[:0]
	r.buf = append(r.buf, '{')
	if o, res := r.execute(t.ops); !res.ok() {
		r.buf = r.buf[:start]
		switch {
		case res.err != nil:
			r.result.PatchErr = r.failure("", o.where, res.err)
		case r.excluded(res.unknown) != nil:
			r.result.PatchWaits = []string{"a child that its when excludes (" + strings.Join(r.excluded(res.unknown), ", ") + ")"}
		default:
			r.result.PatchWaits = r.trails(res.unknown)
		}
		return
	}
	r.buf = expr.Close(r.buf, '}')
	r.result.patch = span{start, len(r.buf)}
}
