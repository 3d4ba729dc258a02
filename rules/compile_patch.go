package rules

import (
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// patch compiles the fields that the rule writes to the primary itself.
func (c *compiler) patch() {
	if c.src.Patch == nil {
		return
	}
	b := &builder{c: c.expressions, omit: notStored(c.rule.GVK.GroupKind()), under: "patch."}
	for _, f := range sortedFields(c.src.Patch) {
		where := expr.Join("patch", f.Key.Value)
		if f.Key.Value != "metadata" {
			b.appendNode(keyedEntry(f.Key.Value, where), f.Value)
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
	c.rule.patched = patchedFields(c.src.Patch, "patch", nil, nil)
	c.findOwnReads()
}

// findOwnReadsOfSelf finds the expressions of the patch that read their own field in the primary. Those whose value
// changes with each write of the patch are errors.
func (c *compiler) findOwnReadsOfSelf(ops []op) {
	eachProgram(ops, func(where string, p *expr.Program) {
		if trail, ok := p.Volatile(); ok {
			c.expressions.complain(p.Pos(), "%s: %s changes with every write, so the patch would change, too", where, trail)
		} else if trail := p.OwnRead(self + strings.TrimPrefix(where, "patch")); trail != "" {
			c.addOwnField(where, trail, nil, p.Pos())
		}
	})
}

// A patchedField is a field that a patch writes as a whole.
type patchedField struct {
	keys  []string
	where string // the same, for messages
	pos   source.Pos
}

// overlaps reports whether two fields are the same, or one contains the other.
func (f patchedField) overlaps(g patchedField) bool {
	a, b := f.where, g.where
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '.' || b[len(a)] == '[')
}

// patchedFields returns the fields of a map that are not maps themselves. keys leads to
// the map.
func patchedFields(n *source.Node, where string, keys []string, out []patchedField) []patchedField {
	for _, f := range n.Fields {
		at, path := expr.Join(where, f.Key.Value), append(slices.Clone(keys), f.Key.Value)
		if f.Value.Kind == source.Map {
			out = patchedFields(f.Value, at, path, out)
		} else {
			out = append(out, patchedField{path, at, f.Key.Pos})
		}
	}
	return out
}
