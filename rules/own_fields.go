package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An OwnFieldRead is an expression of a patch that reads what it writes. Through a lookup of the same object, which may
// be older than the primary, or newer, it undoes what others write.
type OwnFieldRead struct {
	Pos    source.Pos
	Where  string  // what is written, such as patch.spec.replicas
	Trail  string  // what is read, such as live.spec.replicas
	lookup *Lookup // or nil: it reads the primary itself
}

// Why says why the read is the same field, and what follows.
func (o OwnFieldRead) Why() string {
	switch {
	case o.lookup != nil:
		return o.Trail + " is the same field of the same object: it would undo what others write"
	case expr.IsOrBelow(o.Trail, self+strings.TrimPrefix(o.Where, "patch")):
		return o.Trail + " is a part of it: it would change each time"
	}
	return "it is a part of " + o.Trail + ": it would change each time"
}

// OwnFieldReads returns the expressions of the patch that read their own field as a part of another value, or through a
// lookup that certainly has the primary. What a lookup with a computed name or selector has is known only when the rule
// is rendered.
func (r *Rule) OwnFieldReads() []OwnFieldRead { return r.ownReads }

// findOwnReads finds the reads of OwnFieldReads through lookups.
func (c *compiler) findOwnReads() {
	if c.rule.patch == nil {
		return
	}
	for _, l := range c.rule.Lookups {
		if l.mayHavePrimary = l.GVK.GroupKind() == c.rule.GVK.GroupKind(); l.mayHavePrimary && c.hasPrimary(l) {
			eachProgram(c.rule.patch.ops, func(where string, p *expr.Program) {
				if trail := ownTrail(p.Paths(), l, where); trail != "" {
					c.rule.ownReads = append(c.rule.ownReads, OwnFieldRead{p.Pos(), where, trail, l})
				}
			})
		}
	}
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

// looked returns an object of a lookup as expressions see it. If it is the primary, the run knows which fields of it
// are read.
func (r *queries) looked(l *Lookup, object map[string]any) any {
	object = r.liveObjects.object(l.GVK, object)
	if !l.mayHavePrimary || slices.ContainsFunc(r.rule.ownReads, func(o OwnFieldRead) bool { return o.lookup == l }) {
		return object
	}
	id := identityOf(object)
	if id.name != r.primary.name || id.namespace != r.primary.namespace || id.uid != r.primary.uid {
		return object
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

// ownFieldRead returns the error for a patch that has read the field that it writes through a lookup, or nil.
func (r *queries) ownFieldRead() (where string, err *expr.Error) {
	if len(r.primaryReads) == 0 {
		return "", nil
	}
	eachProgram(r.rule.patch.ops, func(at string, p *expr.Program) {
		for _, read := range r.primaryReads {
			if err == nil && read.isOf(at) && slices.ContainsFunc(p.Paths(),
				func(trail string) bool { return expr.Root(trail) == read.lookup.ID }) {
				where = at
				err = &expr.Error{Pos: p.Pos(), Message: "is computed from itself: the lookup \"" + read.lookup.ID +
					"\" has the resource itself"}
			}
		}
	})
	return where, err
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
