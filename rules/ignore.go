package rules

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An ignoredField is set when an object is created and left to others then.
// It is no part of the rendering that is hashed and compared. With a condition
// that is so only while the condition is true: whether a field is ignored is a
// property of each rendering.
type ignoredField struct {
	keys  []string
	ops   []op          // write its value, or nothing
	when  *expr.Program // or nil: always
	entry string        // of ignoreFields, for messages
}

// A value is what an ignored field is created with.
type value struct {
	span span
	json []byte // empty: it is absent
}

// A FieldValue is a field of an object and a value for it.
type FieldValue struct {
	Path  []string // the keys of the maps that lead to it
	Value any
}

// ignoring notes that fields are to be kept out of the rendering.
func ignoring(b *builder, paths []*syntax.FieldPath, conditions map[*syntax.FieldPath]*expr.Program) {
	b.ignored, b.conditions = map[string]*syntax.FieldPath{}, conditions
	for _, p := range paths {
		b.ignored[whereOf(p.Keys)] = p
	}
}

// ignoredWhen compiles the conditions under which fields are ignored.
func (c *compiler) ignoredWhen(paths []*syntax.FieldPath) map[*syntax.FieldPath]*expr.Program {
	out := map[*syntax.FieldPath]*expr.Program{}
	for _, p := range paths {
		out[p] = c.expression(p.When, expr.Bool, p.Entry+".when")
	}
	return out
}

// decideIgnored finds out which fields an object's rendering leaves to others.
// As long as that is not known the object stays as it is: neither answer is
// safe. What when excludes must not exclude the object as well, only because
// one of its fields is left to others.
func (r *run) decideIgnored(d *Desired) bool {
	for i := range d.Child.ignored {
		f := &d.Child.ignored[i]
		ignored := true
		if f.when != nil {
			var res result
			ignored, res = r.truth(f.when)
			if ids := r.excludedIn(res); ids != nil {
				res = result{err: &expr.Error{Pos: f.when.Pos(), Message: "reads " + strings.Join(ids, ", ") + ", which when excludes: read it with .? or has()"}}
			}
			if !res.ok() {
				r.settle(d, f.entry+".when", res)
				return false
			}
		}
		d.ignoring = append(d.ignoring, ignored)
	}
	return true
}

// writeIgnorable writes a field with a condition where the rendering has it,
// unless it is ignored.
func (r *run) writeIgnorable(o *op) result {
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

func whereOf(keys []string) string {
	where := ""
	for _, k := range keys {
		where = expr.Join(where, k)
	}
	return where
}

// ignore compiles a field that is to be ignored apart from the others.
func (b *builder) ignore(p *syntax.FieldPath, n *source.Node, e entry) {
	inner := &builder{c: b.c, omit: b.omit, texts: b.texts}
	inner.node(entry{where: e.where}, n)
	f := ignoredField{keys: p.Keys, ops: inner.template().ops, when: b.conditions[p], entry: p.Entry}
	if p.When != nil {
		b.emit(op{kind: opIgnorable, lit: e.lit, key: e.key, omit: b.omit, ops: f.ops, index: len(b.ignoring), where: e.where, pos: n.Pos})
	}
	b.ignoring = append(b.ignoring, f)
}

// unset complains about paths at which the template sets nothing.
func (b *builder) unset(paths []*syntax.FieldPath) {
	for _, p := range paths {
		if !slices.ContainsFunc(b.ignoring, func(f ignoredField) bool { return slices.Equal(f.keys, p.Keys) }) {
			b.c.complain(p.Pos, "%s cannot be ignored: the template does not set it as a field of its own", p.Text)
		}
	}
}

// writeIgnored computes what the ignored fields are created with. Once the
// object exists nobody asks for that any more.
func (r *run) writeIgnored(d *Desired) {
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
		o, res := r.execute(d.Child.ignored[i].ops)
		if !res.ok() {
			r.noteFull()
			r.buf = r.buf[:start]
			if d.Live.Object == nil {
				r.settle(d, o.where, res)
			}
		}
		if end := len(r.buf); end > start {
			r.buf = r.buf[:end-1] // The comma of the entry.
		}
		d.ignored = append(d.ignored, value{span: span{start, len(r.buf)}})
	}
}

// Ignored returns the fields that the rendering leaves to others once the
// object exists. Its values are those that the object is created with; a field
// without one is not among them.
func (d *Desired) Ignored() ([]FieldValue, error) {
	var out []FieldValue
	for i, f := range d.Child.ignored {
		if len(d.ignored) <= i || len(d.ignored[i].json) == 0 {
			continue
		}
		var v any
		if err := json.Unmarshal(d.ignored[i].json, &v); err != nil {
			return nil, err
		}
		out = append(out, FieldValue{Path: f.keys, Value: v})
	}
	return out, nil
}

// IgnoredPaths returns the paths of the fields that this rendering leaves to
// others.
func (d *Desired) IgnoredPaths() [][]string {
	var out [][]string
	for i, f := range d.Child.ignored {
		if f.when == nil || i < len(d.ignoring) && d.ignoring[i] {
			out = append(out, f.keys)
		}
	}
	return out
}

// set puts a value under a path of maps, copying what it changes.
func set(object map[string]any, f FieldValue) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	key := f.Path[0]
	if len(f.Path) == 1 {
		out[key] = f.Value
		return out
	}
	inner, _ := out[key].(map[string]any)
	out[key] = set(inner, FieldValue{f.Path[1:], f.Value})
	return out
}

// ignorableBelow reports whether there are fields below a path that are ignored
// under a condition.
func (b *builder) ignorableBelow(where string) bool {
	for at, p := range b.ignored {
		if p.When != nil && strings.HasPrefix(at, where) {
			return true
		}
	}
	return false
}

// isIgnored returns the path at which a field is to be ignored, or nil.
func (b *builder) isIgnored(e entry) *syntax.FieldPath {
	if len(b.ignored) == 0 || len(e.lit) == 0 {
		return nil
	}
	return b.ignored[strings.TrimPrefix(e.where, ".")]
}
