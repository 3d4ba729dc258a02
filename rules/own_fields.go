package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// findOwnReads finds the fields of the patch that are computed from themselves, as a part of another value or through a
// lookup that certainly has the primary. What a lookup with a computed name or selector has is known only when the rule
// is rendered.
func (c *compiler) findOwnReads() {
	c.findOwnReadsOfSelf(c.rule.patch.ops)
	for _, l := range c.rule.Lookups {
		l.mayHavePrimary = l.GVK.GroupKind() == c.rule.GVK.GroupKind()
		if l.mayHavePrimary && c.hasPrimary(l) {
			eachProgram(c.rule.patch.ops, func(where string, p *expr.Program) {
				if trail := ownTrail(p.Paths(), l, where); trail != "" {
					c.addOwnField(where, trail, l, p.Pos())
				}
			})
		}
	}
}

// addOwnField notes that a field of the patch is computed from itself, at a path that it reads.
func (c *compiler) addOwnField(where, trail string, l *Lookup, pos source.Pos) {
	f := c.rule.patchedAt(where)
	switch {
	case f == nil:
		c.expressions.complain(pos, "%s: is computed from itself, because it reads %s", where, trail).Hint = wholeField
	case l != nil && l.GVK != c.rule.GVK:
		c.expressions.complain(pos, "%s: is computed from itself, because it reads %s", where, trail).Hint = inThisVersion
	case !slices.Contains(c.rule.ownFields, f):
		c.rule.ownFields = append(c.rule.ownFields, f)
	}
}

// What to write instead of an expression that reads its own field.
const (
	wholeField = "write the whole field as one expression in the patch: " +
		"a list, or a map, that reads the one that is there"
	inThisVersion = "read it from self: a lookup in another version may be older or newer"
)

// patchedAt returns the field that the patch writes at a position, or nil if that is a part of one.
func (r *Rule) patchedAt(where string) *patchedField {
	if i := slices.IndexFunc(r.patched, func(f patchedField) bool { return f.where == where }); i >= 0 {
		return &r.patched[i]
	}
	return nil
}

// hasPrimary reports whether a lookup of the primary's kind certainly has the primary.
func (c *compiler) hasPrimary(l *Lookup) bool {
	if l.namespace != nil && !l.namespace.copies(self+".metadata.namespace") {
		return false
	}
	switch {
	case l.name != nil:
		return l.name.copies(self + ".metadata.name")
	case l.names != nil:
		return l.names.copies(self + ".metadata.name")
	}
	return l.fixed != nil && l.fixed.String() == labels.Everything().String()
}

// copies reports whether the text is the value at a path.
func (t *text) copies(trail string) bool {
	return len(t.parts) == 1 && t.parts[0].prog != nil && slices.Contains(t.parts[0].prog.Copies(), trail)
}

// copies reports whether the data is the value at a path, or a list that has it.
func (d *data) copies(trail string) bool {
	return d.prog != nil && slices.Contains(d.prog.Copies(), trail) ||
		slices.ContainsFunc(d.entries, func(e dataEntry) bool { return e.value.copies(trail) })
}

// ownTrail returns the path at which an expression reads the field that it writes, or "". If it reads other fields of
// the objects of a list, it may leave the primary out.
func ownTrail(paths []string, l *Lookup, where string) (own string) {
	for _, trail := range paths {
		if expr.Root(trail) != l.ID {
			continue
		}
		rest := trail[len(l.ID):]
		if !l.One() {
			_, rest, _ = strings.Cut(rest, "]")
		}
		if expr.IsOrBelow("patch"+rest, where) {
			own = trail
		} else if !l.One() && rest != "" {
			return ""
		}
	}
	return own
}

// eachProgram visits the expressions of a template.
func eachProgram(ops []op, visit func(where string, p *expr.Program)) {
	for i := range ops {
		o := &ops[i]
		for _, p := range append(o.text.programs(), o.prog) {
			if p != nil {
				visit(o.where, p)
			}
		}
		eachProgram(o.ops, visit)
	}
}

// looked returns an object of a lookup as expressions see it. The primary is self, so that all that is read of it has
// one resourceVersion, and the run knows which fields of it are read.
func (r *queries) looked(l *Lookup, object map[string]any) any {
	if !l.mayHavePrimary {
		return r.liveObjects.object(l.GVK, object)
	}
	id := identityOf(object)
	if id.name != r.primary.name || id.namespace != r.primary.namespace || id.uid != r.primary.uid {
		return r.liveObjects.object(l.GVK, object)
	}
	if l.GVK == r.rule.GVK {
		object = r.in.Self
	}
	return expr.Follow(object, l, r)
}

// Read implements expr.Reader: it records what is read of the primary through lookups.
func (r *queries) Read(of any, path []any, use expr.Use, _ any) {
	read := primaryRead{of.(*Lookup), expr.Path("patch", path), use}
	if slices.ContainsFunc(r.rule.patched, func(f patchedField) bool { return read.isOf(f.where) }) &&
		!slices.Contains(r.primaryReads, read) {
		r.primaryReads = append(r.primaryReads, read)
	}
}

// A primaryRead is a field of the primary that was read through a lookup, as a path in the patch.
type primaryRead struct {
	lookup *Lookup
	path   string
	use    expr.Use
}

// isOf reports whether the field is part of what the patch writes, or the other way around.
func (p primaryRead) isOf(where string) bool {
	return expr.IsOrBelow(p.path, where) || p.use == expr.UsedValue && expr.IsOrBelow(where, p.path)
}

// ownFields returns the fields of the patch that are computed from themselves in this rendering, or the error of one
// that cannot be.
func (r *queries) ownFields() (fields []*patchedField, where string, err *expr.Error) {
	fields = slices.Clip(r.rule.ownFields)
	if len(r.primaryReads) == 0 {
		return fields, "", nil
	}
	eachProgram(r.rule.patch.ops, func(at string, p *expr.Program) {
		for _, read := range r.primaryReads {
			if err != nil || !read.isOf(at) || !slices.ContainsFunc(p.Paths(),
				func(trail string) bool { return expr.Root(trail) == read.lookup.ID }) {
				continue
			}
			hint := wholeField
			if f := r.rule.patchedAt(at); read.lookup.GVK != r.rule.GVK {
				hint = inThisVersion
			} else if f != nil {
				if !slices.Contains(fields, f) {
					fields = append(fields, f)
				}
				continue
			}
			where = at
			err = &expr.Error{Pos: p.Pos(), Message: "is computed from itself: the lookup \"" + read.lookup.ID +
				"\" has the resource itself; " + hint}
		}
	})
	return fields, where, err
}

// A VolatileRead is an expression whose value changes with each write of the primary, although it decides
// about a write of the primary or its objects.
type VolatileRead struct {
	Pos   source.Pos
	Where string // what is written: a field of the status, a condition or a field of a child's template
	Trail string // what is read, such as self.metadata.resourceVersion
}

// Text says what is read where.
func (v VolatileRead) Text() string { return v.Where + " reads " + v.Trail }

// VolatileReads returns the expressions of the status, the conditions and the templates that read what changes with
// a write of the primary. With status, a write of the status does not change the generation.
func (r *Rule) VolatileReads(status bool) []VolatileRead {
	v := volatileReads{status: status}
	if r.status != nil {
		v.ops(r.status.ops, "")
	}
	for _, k := range r.conditions {
		subject := conditionSubject(k.typ)
		v.programs([]*expr.Program{k.when}, subject)
		v.programs(k.reason.programs(), subject)
		v.programs(k.message.programs(), subject)
	}
	for _, c := range r.Children {
		if c.OnChange != Keep && c.Timeout == 0 && c.body != nil {
			v.ops(c.body.ops, "child \""+c.ID+"\": ")
		}
	}
	return v.found
}

type volatileReads struct {
	status bool
	found  []VolatileRead
}

func (v *volatileReads) ops(ops []op, prefix string) {
	for i := range ops {
		o := &ops[i]
		v.programs(append(o.text.programs(), o.prog), prefix+o.where)
		if o.secret != nil {
			v.programs(append(o.secret.data.programs(), o.secret.plain.programs()...), prefix+o.where)
		}
		v.ops(o.ops, prefix)
	}
}

func (v *volatileReads) programs(all []*expr.Program, where string) {
	for _, p := range all {
		if p == nil {
			continue
		}
		trail, ok := p.Volatile()
		if !ok || trail != self && !strings.HasPrefix(trail, self+".") && !strings.HasPrefix(trail, self+"[") ||
			v.status && strings.HasSuffix(trail, ".generation") {
			continue
		}
		v.found = append(v.found, VolatileRead{p.Pos(), where, trail})
	}
}
