package rules

import (
	"strings"

	"reconcel/rules/expr"
)

// patch compiles what the rule writes into the primary itself.
func (c *compiler) patch() {
	if c.src.Patch == nil {
		return
	}
	b := &builder{c: c, omit: notStored(c.rule.GVK.GroupKind()), under: "patch."}
	for _, f := range sortedFields(c.src.Patch) {
		where := expr.Join("patch", f.Key.Value)
		if f.Key.Value != "metadata" {
			b.node(keyed(f.Key.Value, where), f.Value)
			continue
		}
		b.run = append(b.run, `"metadata":{`...)
		for _, m := range sortedFields(f.Value) {
			b.emit(op{kind: opMark})
			b.marks(m.Key.Value, m.Value, nil)
			b.emit(op{kind: opCloseMarked, lit: []byte{'}'}})
		}
		b.close('}')
	}
	c.rule.patch = b.template()
}

// renderPatch writes the patch. It is written as a whole or not at all: a
// field that is left out would be taken away.
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
			r.result.PatchWaits = []string{"what when excludes: " + strings.Join(r.excluded(res.unknown), ", ")}
		default:
			r.result.PatchWaits = r.trails(res.unknown)
		}
		return
	}
	r.buf = expr.Close(r.buf, '}')
	r.result.patch = span{start, len(r.buf)}
}
